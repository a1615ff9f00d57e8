# SPDX-License-Identifier: Apache-2.0
"""Files that are made of a private file are private, as those of `cp`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from output_writers import WRITERS, sources

COMMANDS = [name for name in WRITERS if name.startswith("tricodec ")]
OF_FILES = ["transcode", "Transcoder", "save_index", "compress_file", *COMMANDS]


@pytest.fixture
def private() -> Iterator[None]:
    """The sources of all writers can be read by their owner only."""
    before = {path: path.stat().st_mode for path in sources().iterdir()}
    for path in before:
        path.chmod(0o600)
    yield
    for path, mode in before.items():
        path.chmod(mode)


@pytest.mark.usefixtures("private")
@pytest.mark.parametrize("name", OF_FILES)
def test_a_new_file_has_the_permissions_of_its_input(name: str, tmp_path: Path) -> None:
    target = tmp_path / WRITERS[name].name
    before = os.umask(0o022)
    try:
        WRITERS[name].write(target)
        (tmp_path / "other").touch()
    finally:
        os.umask(before)

    assert target.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "other").stat().st_mode & 0o777 == 0o644  # the umask of the process is as it was
