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
import tricodec

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


@pytest.mark.parametrize("command", ["probe", "transcode -o out", "frames --md5", "index -o i.parquet"])
@pytest.mark.parametrize("name", ["secret", "file.mp4"])
def test_one_that_cannot_be_read_is_an_error(videos: Path, command: str, name: str) -> None:
    done = tricodec_command(videos.parent, *command.split(), videos / name)

    assert done.returncode == 1
    assert "Permission denied" in done.stderr
    assert str(videos / name) in done.stderr


def test_a_data_set_counts_the_videos_that_it_leaves_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "videos"
    folder.mkdir()
    long, short = media.generated("h264_bframes.mp4"), folder / "short.mp4"
    shutil.copy(long, folder / "long.mp4")
    media.ffmpeg("-f lavfi -i testsrc2=s=64x64:r=25:d=0.2 -c:v libx264", short)
    (folder / "bad.mp4").write_bytes(bytes(1000))
    (folder / "pack.tar").write_bytes(bytes(10240))  # an archive without files
    (folder / "pack.tar.gz").write_bytes(b"\x1f\x8b" + bytes(100))

    clips = tricodec.data.Dataset(folder, clip_length=16)

    assert {clip["video"] for clip in (clips[0], clips[-1])} == {
        row for row, facts in enumerate(clips.index) if facts["path"] == "long.mp4"
    }
    (warning,) = [each.getMessage() for each in caplog.records if "cannot be used" in each.getMessage()]
    assert warning.startswith(f"4 of 5 videos of '{clips.index.path}'")
    assert "3 are unreadable (such as 'bad.mp4':" in warning
    assert "1 is shorter than a clip (such as one of 'short.mp4')" in warning
    with pytest.raises(ValueError, match=r"no clip: 5 of 5 videos .*: 3 are unreadable .*, 2 are shorter than a clip"):
        tricodec.data.Dataset(folder, clip_length=10_000)
    with pytest.raises(ValueError, match=r"no clip: 1 of 1 parts .* shorter than a clip"):
        tricodec.data.Dataset(folder, clip_length=16, parts=[{"path": "long.mp4", "count": 8}])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"no clip: .* has no video"):
        tricodec.data.Dataset(tmp_path / "empty", clip_length=16)
