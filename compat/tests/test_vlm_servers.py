# SPDX-License-Identifier: Apache-2.0
"""tricodec as the video reader of vLLM and SGLang themselves; tools/requirements-servers.txt says how to run this."""

from __future__ import annotations

import importlib.metadata
from typing import Any

import media
import numpy as np
import pytest
from torchvision_wheel import load_torchvision
from tricodec_compat import vlm

CLIP = "h264_bframes.mp4"


@pytest.fixture(scope="module")
def path() -> str:
    load_torchvision()  # what the packages import
    return str(media.generated(CLIP))


@pytest.fixture(scope="module")
def data(path: str) -> bytes:
    with open(path, "rb") as file:  # noqa: PTH123
        return file.read()


def frames_of(path: str, indices: list[int]) -> Any:
    data = media.ffmpeg("-i", path, "-pix_fmt rgb24 -f rawvideo -")
    return np.frombuffer(data, np.uint8).reshape(50, 180, 320, 3)[indices]


def test_vllm_finds_the_plugin() -> None:
    (plugin,) = importlib.metadata.distribution("tricodec-compat").entry_points
    assert (plugin.group, plugin.name) == ("vllm.general_plugins", "tricodec")
    assert plugin.load() is vlm.install_vllm


@pytest.mark.needs_vllm
class TestVllm:
    @pytest.fixture(autouse=True)
    def _installed(self, path: str) -> None:
        vlm.install_vllm()

    @staticmethod
    def load(data: bytes, **options: Any) -> Any:
        from vllm.multimodal.media.image import ImageMediaIO
        from vllm.multimodal.media.video import VideoMediaIO

        return VideoMediaIO(ImageMediaIO(), **options).load_bytes(data).media

    @pytest.mark.parametrize("options", [{"video_backend": "tricodec"}, {"backend": "tricodec"}])
    def test_its_loader_and_its_backend_take_the_frames_that_opencv_takes(
        self, path: str, data: bytes, options: dict[str, str]
    ) -> None:
        frames, metadata = self.load(data, num_frames=8, **options)
        _, by_opencv = self.load(data, num_frames=8, backend="opencv")
        assert np.array_equal(frames, frames_of(path, metadata["frames_indices"]))
        assert metadata == {**by_opencv, "video_backend": "tricodec"}

    def test_the_loader_of_a_model_keeps_its_rule(self, path: str, data: bytes) -> None:
        frames, metadata = self.load(data, num_frames=-1, video_backend="qwen3_vl", backend="tricodec", fps=4)
        _, by_opencv = self.load(data, num_frames=-1, video_backend="qwen3_vl", backend="opencv", fps=4)
        assert metadata["frames_indices"] == by_opencv["frames_indices"]
        assert np.array_equal(frames, frames_of(path, metadata["frames_indices"]))

    def test_its_limit_of_pixels_holds(self, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("VLLM_MAX_IMAGE_PIXELS", "1000")
        with pytest.raises(ValueError, match="exceed the maximum of 1000 pixels"):
            self.load(data, backend="tricodec")


@pytest.mark.needs_sglang
@pytest.mark.parametrize("num_threads", [1, 4])
def test_sglang_decodes_with_tricodec(
    path: str, data: bytes, num_threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SGLANG_USE_CPU_ENGINE", "1")  # frames in memory that no GPU needs to know
    vlm.install("sglang")
    from sglang.srt.utils import video_decoder

    indices = [0, 20, 49]
    with video_decoder.VideoDecoderWrapper(data, num_decode_threads=num_threads) as decoder:
        assert type(decoder._decoder).__module__.startswith("tricodec.")
        assert (len(decoder), decoder.avg_fps, decoder.frame_shape) == (50, 25.0, (180, 320))
        frames = decoder.get_frames_at(indices)
        assert np.array_equal(decoder.get_frames_as_tensor(indices), frames)
    by_command = np.frombuffer(media.ffmpeg("-i", path, "-pix_fmt rgb24 -f rawvideo -"), np.uint8)
    assert np.array_equal(frames, by_command.reshape(50, 180, 320, 3)[indices])
