# SPDX-License-Identifier: Apache-2.0
"""tricodec_compat.install(): torchaudio's names, with torchaudio (of either age) and without."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from programs import printed_by

# What a torchaudio looks like to its importers: before 2.9 with streams, from 2.9 on without.
_OLD = {
    "__init__.py": "version = 'old'\nfrom torchaudio import io",
    "io/__init__.py": "class StreamReader: old = True\n",
}
_NEW = {"__init__.py": "version = 'new'\ndef load(): return 'sound'", "utils/__init__.py": "def kept(): return True\n"}


def run(program: str, folder: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        path = folder / "torchaudio" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if not files and importlib.util.find_spec("torchaudio") is not None:
        pytest.skip("torchaudio is installed")
    code = f"import sys; sys.path.insert(0, {str(folder)!r})\n{program}"
    return printed_by(code)


def test_without_torchaudio_its_streams_can_be_imported(tmp_path: Path) -> None:
    program = """
import tricodec_compat, tricodec.io
print(tricodec_compat.install())
from torchaudio.io import CodecConfig, StreamReader, StreamWriter
from torchaudio.utils import ffmpeg_utils
from torchaudio.utils.ffmpeg_utils import get_versions
import torchaudio
assert torchaudio.io.StreamReader is StreamReader is tricodec.io.StreamReader
assert StreamWriter is tricodec.io.StreamWriter and CodecConfig is tricodec.io.CodecConfig
assert ffmpeg_utils.get_versions() == get_versions() and "libavcodec" in get_versions()
from torio.io import StreamingMediaDecoder, StreamingMediaEncoder
assert StreamingMediaDecoder is StreamReader and StreamingMediaEncoder is StreamWriter
assert tricodec_compat.install() == tricodec_compat.install()
"""
    assert "torchaudio.io" in run(program, tmp_path, {})


def test_a_torchaudio_without_streams_keeps_the_rest(tmp_path: Path) -> None:
    program = """
import torchaudio
assert not hasattr(torchaudio, "io")
import tricodec_compat, tricodec.io
tricodec_compat.install()
from torchaudio.io import StreamReader
from torchaudio.utils import ffmpeg_utils, kept
assert StreamReader is tricodec.io.StreamReader and torchaudio.io.StreamReader is StreamReader
assert kept() and torchaudio.load() == "sound" and torchaudio.version == "new"
assert ffmpeg_utils.get_log_level() == tricodec.io.ffmpeg_utils.get_log_level()
"""
    run(program, tmp_path, _NEW)


@pytest.mark.parametrize("force", [False, True])
def test_a_torchaudio_with_streams_keeps_them_unless_forced(tmp_path: Path, force: bool) -> None:
    program = f"""
import tricodec_compat, tricodec.io
names = tricodec_compat.install(force={force})
from torchaudio.io import StreamReader
assert (StreamReader is tricodec.io.StreamReader) == {force}
assert ("torchaudio.io" in names) == {force}
"""
    run(program, tmp_path, _OLD)


def test_nothing_changes_before_install(tmp_path: Path) -> None:
    program = """
import sys, tricodec, tricodec.io
assert not any(name.startswith(("torchaudio", "torio")) for name in sys.modules)
assert not any("tricodec" in type(finder).__module__ for finder in sys.meta_path)
"""
    run(program, tmp_path, {})


def test_a_program_written_for_torchaudio_runs(tmp_path: Path) -> None:
    program = """
import tricodec_compat
tricodec_compat.install()
import torchaudio
assert torchaudio.__version__ == "2.8.0"
import io
from torchaudio.io import StreamReader, StreamWriter

def get_data(height, width, format="yuv444p", frame_rate=30000 / 1001, duration=4):
    src = f"testsrc2=rate={frame_rate}:size={width}x{height}:duration={duration}"
    s = StreamReader(src=src, format="lavfi")
    s.add_basic_video_stream(-1, format=format)
    s.process_all_packets()
    (video,) = s.pop_chunks()
    return video

pict_config = {"height": 36, "width": 64, "frame_rate": 30000 / 1001, "format": "yuv444p"}
frames = get_data(**pict_config, duration=1)
buffer = io.BytesIO()
w = StreamWriter(buffer, format="mp4")
w.add_video_stream(**pict_config, encoder="libx264", encoder_format="yuv444p", encoder_option={"qp": "0"})
with w.open():
    w.write_video_chunk(0, frames)
buffer.seek(0)
s = StreamReader(buffer)
s.add_basic_video_stream(-1, format="yuv444p")
s.process_all_packets()
assert (s.pop_chunks()[0] == frames).all()
print(tuple(frames.shape))
"""
    assert run(program, tmp_path, {}) == "(30, 3, 36, 64)\n"
