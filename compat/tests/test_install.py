# SPDX-License-Identifier: Apache-2.0
"""install("torchcodec", "decord"): imports, presence tests, and programs that are unchanged."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import media
import numpy as np
import pytest
from programs import printed_by, run_python
from wheels import unpacked

_FAKE = "raise ImportError('the original')\n"


def test_decords_names_are_in_place_without_torch(tmp_path: Path) -> None:
    program = f"""
import sys
sys.modules["torch"] = None
sys.path.insert(0, {str(tmp_path)!r})
import tricodec_compat
assert tricodec_compat.install("decord") == ("decord",) == tricodec_compat.install("decord")
import importlib.metadata, importlib.util
assert importlib.util.find_spec("decord").name == "decord"
assert importlib.metadata.version("decord") == "0.6.0"
import decord
from decord import VideoReader, VideoLoader, bridge, cpu, gpu, nd
from decord.base import DECORDError
from decord.ndarray import NDArray
import decord.video_reader, decord.logging
assert decord.__version__ == "0.6.0" and decord.__spec__.name == "decord"
assert decord.DECORDError is DECORDError and decord.video_reader.VideoReader is VideoReader
assert isinstance(VideoReader(sys.argv[1], ctx=cpu(0))[0], NDArray) and nd.NDArray is NDArray
print(VideoReader(sys.argv[1]).get_batch([0, 1]).asnumpy().shape)
"""
    (tmp_path / "decord").mkdir()
    (tmp_path / "decord/__init__.py").write_text(_FAKE)
    assert printed_by(program, media.generated("h264_bframes.mp4")) == "(2, 180, 320, 3)\n"


@pytest.mark.needs_torch
def test_torchcodecs_names_are_in_place_of_an_installed_one(tmp_path: Path) -> None:
    program = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import tricodec_compat
tricodec_compat.install("torchcodec")
import importlib.metadata, importlib.util
assert importlib.util.find_spec("torchcodec") is not None
assert importlib.metadata.version("torchcodec").split("+")[0] == "0.17.0"
import torchcodec, torchcodec.decoders
from torchcodec import AudioSamples, Frame, FrameBatch
from torchcodec.decoders import SimpleVideoDecoder, VideoDecoder, VideoStreamMetadata
from torchcodec.samplers import clips_at_random_indices, clips_at_regular_timestamps
from torchcodec.transforms import CenterCrop, DecoderTransform, RandomCrop, Resize
assert isinstance(torchcodec.ffmpeg_major_version, int) and torchcodec.core_library_path
assert issubclass(type("Mine", (VideoDecoder,), {{}}), VideoDecoder) and SimpleVideoDecoder is VideoDecoder
try:
    import torchcodec._core
except ImportError:
    print(type(VideoDecoder(sys.argv[1]).get_frame_at(0)) is Frame)
"""
    (tmp_path / "torchcodec").mkdir()
    (tmp_path / "torchcodec/__init__.py").write_text(_FAKE)
    assert printed_by(program, media.generated("h264_bframes.mp4")) == "True\n"


def test_the_release_is_that_of_the_distribution_that_is_named() -> None:
    program = """
import importlib.metadata, tricodec_compat
for name in ("decord", "decord2", "decord"):
    assert tricodec_compat.install(name) == ("decord",)
    import decord
    print(decord.__version__, importlib.metadata.version(name))
"""
    assert printed_by(program) == "0.6.0 0.6.0\n3.4.0 3.4.0\n0.6.0 0.6.0\n"


def test_a_program_runs_unchanged_under_the_variable(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import sys, decord\nprint(len(decord.VideoReader(sys.argv[1])))\n")
    command = [sys.executable, "-m", "tricodec_compat", str(program), str(media.generated("h264_bframes.mp4"))]
    environment = {**os.environ, "TRICODEC_COMPAT": "decord, torchcodec"}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert result.stdout == "50\n", result.stderr
    wrong = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "TRICODEC_COMPAT": "opencv"}, check=False
    )
    assert wrong.returncode == 2
    assert "accepted are torchaudio, torchcodec, decord, decord2" in wrong.stderr


def test_a_program_that_is_missing_is_named() -> None:
    command = [sys.executable, "-m", "tricodec_compat", "/nowhere.py"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "there is no file '/nowhere.py'; give a Python file, or -m" in result.stderr


def test_other_names_are_refused() -> None:
    result = run_python("import tricodec_compat; tricodec_compat.install('cv2')")
    assert (
        "'cv2' is no package with a replacement here; accepted are torchaudio, torchcodec, decord, decord2"
        in result.stderr
    )


def test_nothing_is_in_place_before_install() -> None:
    program = """
import sys, tricodec, tricodec_compat
assert not any(name.startswith(("torchcodec", "decord", "tricodec_compat.decord", "torch")) for name in sys.modules)
print("nothing")
"""
    assert printed_by(program) == "nothing\n"


@pytest.fixture
def lerobot(monkeypatch: pytest.MonkeyPatch) -> Any:
    """LeRobot's own module that reads videos, on torchcodec's names, without packages that it only imports."""
    import torch
    from tricodec_compat import torchcodec
    from tricodec_compat.torchcodec import decoders

    monkeypatch.setitem(sys.modules, "torchcodec", torchcodec)
    monkeypatch.setitem(sys.modules, "torchcodec.decoders", decoders)
    for name in ("datasets", "datasets.features", "datasets.features.features", "torchvision"):
        module: Any = ModuleType(name)
        module.__getattr__ = lambda _: torch.nn.Identity
        monkeypatch.setitem(sys.modules, name, module)
    path = unpacked("lerobot-0.4.4", "lerobot==0.4.4") / "lerobot/datasets/video_utils.py"
    spec = importlib.util.spec_from_file_location("lerobots_video_utils", path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, found)  # its dataclasses look for it
    spec.loader.exec_module(found)
    return found


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", ["av1_lerobot.mp4", "hevc_lerobot.mp4"])
def test_lerobot_itself_reads_the_frames_of_several_episodes(lerobot: Any, name: str) -> None:
    path = media.generated(name)
    data = media.ffmpeg("-i", path, "-pix_fmt rgb24 -f rawvideo -")
    pictures = np.frombuffer(data, np.uint8).reshape(120, 96, 96, 3).transpose(0, 3, 1, 2)

    for first in (0, 40, 80):
        rows = [first + row for row in (3, 0, 7, 7, 39)]
        times = [first / 30 + (row - first) / 30 for row in rows]
        frames = lerobot.decode_video_frames(path, times, 1e-4, backend="torchcodec")
        assert np.array_equal(frames.numpy(), (pictures[rows] / 255.0).astype(np.float32))

    with pytest.raises(lerobot.FrameTimestampError, match="violate the tolerance"):
        lerobot.decode_video_frames(path, [0.51], 1e-4, backend="torchcodec")
    lerobot._default_decoder_cache.clear()
