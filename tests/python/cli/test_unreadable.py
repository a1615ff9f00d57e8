# SPDX-License-Identifier: Apache-2.0
"""Files and folders that cannot be read cost a line, and the exit status is not 0."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import media
import pytest

# Root reads everything: without these capabilities root is an ordinary owner of its files.
_AS_A_USER = [] if os.geteuid() else ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"]


@pytest.fixture
def videos(tmp_path: Path) -> Iterator[Path]:
    """A video, and beside it what a user cannot read: a file, a folder, a link that leads nowhere, and a pipe."""
    folder = tmp_path / "videos"
    (folder / "secret").mkdir(parents=True)
    for name in ("a.mp4", "file.mp4", "secret/b.mp4"):
        shutil.copy(media.generated("h264_bframes.mp4"), folder / name)
    (folder / "link.mp4").symlink_to("nowhere")
    os.mkfifo(folder / "pipe.mp4")
    (folder / "file.mp4").chmod(0)
    (folder / "secret").chmod(0)
    yield folder
    (folder / "secret").chmod(0o700)


def tricodec_command(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [*_AS_A_USER, sys.executable, "-m", "tricodec", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize(
    "arguments",
    [
        "probe {}",
        "frames {} --md5",
        "transcode {} -o out",
        "compress {} -o out",
        "index {} -o i.parquet",
    ],
)
def test_what_cannot_be_read_in_a_folder_is_named_and_fails(videos: Path, arguments: str) -> None:
    done = tricodec_command(videos.parent, *arguments.replace("{}", str(videos)).split())

    assert done.returncode == 1
    errors = [line for line in done.stderr.splitlines() if line.startswith("tricodec: error:")]
    for name in ("file.mp4", "secret", "link.mp4", "pipe.mp4"):
        assert len([line for line in errors if f"'{videos / name}'" in line]) == 1, (name, done.stderr)
    assert len(errors) == 4


@pytest.mark.parametrize("command", ["probe", "transcode -o out"])
def test_one_that_cannot_be_read_is_an_error(
    videos: Path,
    command: str,
) -> None:
    done = tricodec_command(videos.parent, *command.split(), videos / "secret")

    assert done.returncode == 1
    assert "Permission denied" in done.stderr
    assert str(videos / "secret") in done.stderr
