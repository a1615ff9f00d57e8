# SPDX-License-Identifier: Apache-2.0
"""An input that another program shortens while it is read ends in an error, not in SIGBUS."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from media import generated
from programs import printed_by

COMMAND = """
import sys
from tricodec.cli import command
from tricodec.compress import _files
_files.PIECE_BYTES = 1 << 20
sys.exit(command.main(sys.argv[1:]))
"""


@pytest.mark.parametrize("command", ["compress", "decompress"])
def test_a_command_says_that_its_input_was_shortened(command: str, tmp_path: Path) -> None:
    source = tmp_path / "a.tcz"
    source.write_bytes(np.random.default_rng(1).bytes(8 << 20))
    if command == "decompress":
        packed = tmp_path / "b.tcz"
        run = [sys.executable, "-c", COMMAND, "compress", source, "--algorithm", "lz4", "-o", packed]
        subprocess.run(run, check=True, capture_output=True)
        source = packed
    options = ["--algorithm", "lz4"] if command == "compress" else []
    pipe = tmp_path / "pipe"  # which holds the command until something is read
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, command, source, "-f", "-o", pipe, *options],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process, pipe.open("rb") as output:
        output.read(1)
        os.truncate(source, 1000)
        while output.read(1 << 20):
            pass
        assert process.stderr is not None
        errors = process.stderr.read()

    assert process.returncode == 1, errors
    assert "another program shortened it" in errors


def test_a_reader_reports_that_its_file_was_shortened(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(generated("h264_bframes.mp4").read_bytes())
    code = """
        import os, sys, tricodec
        with tricodec.FrameReader(sys.argv[1], device="cpu") as reader:
            reader[0]
            os.truncate(sys.argv[1], os.path.getsize(sys.argv[1]) // 2)
            try:
                reader.batch(slice(None))
            except tricodec.Error as error:
                print(type(error).__name__)
            else:
                print(reader.num_damaged_packets > 0)
    """

    assert printed_by(code, path).strip() in ("True", "CorruptDataError", "MediaIOError")
