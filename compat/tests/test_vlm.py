# SPDX-License-Identifier: Apache-2.0
"""tricodec as the video reader of transformers and qwen-vl-utils."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import media
import numpy as np
import pytest
import tricodec
from range_server import range_server
from torchvision_wheel import load_torchvision
from tricodec import node as nodes
from tricodec_compat import sampling, vlm

CLIP = "h264_bframes.mp4"


@pytest.fixture(scope="module")
def path() -> str:
    return str(media.generated(CLIP))


def rgb(path: str, indices: list[int]) -> Any:
    """Frames as ffmpeg gives them, which are those of the packages' own loaders."""
    data = media.ffmpeg("-i", path, "-pix_fmt rgb24 -f rawvideo -")
    return np.frombuffer(data, np.uint8).reshape(50, 180, 320, 3)[indices]


@pytest.fixture(scope="module")
def torchvision() -> Any:
    """What the packages import."""
    return load_torchvision()


@pytest.fixture
def drop_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """torchcodec's names are tricodec's, as transformers finds them."""
    from transformers.utils import import_utils
    from tricodec_compat import torchcodec
    from tricodec_compat.torchcodec import decoders

    answers = [answer for name, answer in vars(import_utils).items() if name.startswith("is_torchcodec_")]
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "torchcodec", torchcodec)
        patched.setitem(sys.modules, "torchcodec.decoders", decoders)
        for answer in answers:
            answer.cache_clear()
        yield
    for answer in answers:
        answer.cache_clear()


@pytest.mark.needs_vlm
@pytest.mark.usefixtures("torchvision", "drop_in")
def test_transformers_own_torchcodec_readers_run_on_the_drop_in(path: str) -> None:
    from transformers.audio_utils import load_audio
    from transformers.video_utils import load_video

    frames, metadata = load_video(path, num_frames=8, backend="torchcodec")

    assert np.array_equal(frames.numpy().transpose(0, 2, 3, 1), rgb(path, metadata.frames_indices))
    assert (metadata.fps, metadata.total_num_frames) == (25, 50)
    sound = str(media.generated("aac.mp4"))
    expected = np.frombuffer(media.ffmpeg("-i", sound, "-ac 1 -ar 16000 -f f32le -"), np.float32)
    assert np.allclose(load_audio(sound, sampling_rate=16000), expected, atol=1e-6)


@pytest.mark.needs_vlm
@pytest.mark.usefixtures("torchvision")
class TestTransformers:
    @pytest.fixture(autouse=True)
    def _installed(self) -> None:
        vlm.install("transformers")

    def test_its_loader_reads_with_tricodec(self, path: str) -> None:
        from transformers.video_utils import default_sample_indices_fn, load_video

        frames, metadata = load_video(path, num_frames=8, backend="tricodec")

        assert metadata.frames_indices == default_sample_indices_fn(metadata, num_frames=8).tolist()
        assert np.array_equal(frames, rgb(path, metadata.frames_indices))
        vlm.install("transformers", chroma="interpolated")
        frames, metadata = load_video(path, num_frames=8, backend="tricodec")
        vlm.install("transformers")
        assert np.array_equal(frames, tricodec.decode_video(path, indices=metadata.frames_indices, device="cpu").frames)
        assert (metadata.video_backend, metadata.fps, metadata.total_num_frames) == ("tricodec", 25.0, 50)

    def test_a_node_that_decodes_on_the_cpu_changes_no_pixels(self, path: str, tmp_path: Path) -> None:
        from transformers.video_utils import load_video

        request: dict[str, Any] = {"num_frames": 8, "backend": "tricodec", "device": "auto"}
        expected = load_video(path, **request)[0]
        node = nodes.connect(nodes.start(nodes.Settings(socket=f"{tmp_path}/n", gpus=(), workers=1, memory=64 << 20)))
        nodes.use(node)
        try:
            frames = load_video(path, **request)[0]
        finally:
            nodes.use(None)
            node.stop()

        assert np.array_equal(frames, expected)

    def test_a_processor_makes_the_same_of_a_path_and_of_sampled_frames(self, path: str) -> None:
        import torch
        from transformers import Qwen2VLVideoProcessor

        processor = Qwen2VLVideoProcessor()
        by_itself = processor(videos=[path], fps=2, do_sample_frames=True, return_metadata=True, return_tensors="pt")
        video = sampling.sample(path, sampling="qwen2_vl", fps=2.0)
        by_us = processor(
            videos=[rgb(path, video.indices.tolist())], video_metadata=[video.metadata], do_sample_frames=False,
            return_metadata=True, return_tensors="pt",
        )  # fmt: skip

        assert list(by_itself["video_metadata"][0].frames_indices) == video.indices.tolist()
        assert torch.equal(by_itself["pixel_values_videos"], by_us["pixel_values_videos"])
        assert by_us["video_metadata"][0].timestamps == pytest.approx(video.pts_seconds.tolist())

    @pytest.mark.parametrize("is_in_memory", [False, True])
    def test_as_many_requests_decode_at_once_as_there_are_cores(self, path: str, is_in_memory: bool) -> None:
        cores = len(os.sched_getaffinity(0))
        all_cores_taken = threading.Barrier(cores)
        inside: set[int] = set()
        counts: list[int] = []

        def choose(**_: Any) -> list[int]:
            inside.add(threading.get_ident())
            counts.append(len(inside))
            all_cores_taken.wait(60)
            inside.discard(threading.get_ident())
            return [0, 10]

        with ThreadPoolExecutor(3 * cores) as threads:
            sources = [io.BytesIO(Path(path).read_bytes()) if is_in_memory else path for _ in range(3 * cores)]
            clips = list(threads.map(lambda source: vlm.read_for_transformers(source, choose)[0], sources))

        assert max(counts) == cores
        expected = rgb(path, [0, 10])
        assert all(np.array_equal(clip, expected) for clip in clips)

    def test_a_forked_process_decodes_while_its_parent_does_on_all_cores(self, path: str) -> None:
        cores = len(os.sched_getaffinity(0))
        all_cores_taken, done = threading.Barrier(cores + 1), threading.Event()

        def choose(**_: Any) -> list[int]:
            all_cores_taken.wait(60)
            done.wait(60)
            return [0]

        with ThreadPoolExecutor(cores) as threads:
            requests = [threads.submit(vlm.read_for_transformers, path, choose) for _ in range(cores)]
            all_cores_taken.wait(60)
            child = os.fork()
            if child == 0:
                signal.alarm(60)  # ends a child that waits without end
                os._exit(0 if len(sampling.sample(path, num_frames=2)) == 2 else 1)
            _, status = os.waitpid(child, 0)
            done.set()
            assert all(len(request.result()[0]) == 1 for request in requests)

        assert status == 0


@pytest.mark.needs_vlm
@pytest.mark.usefixtures("torchvision")
def test_qwen_vl_utils_reads_with_tricodec(path: str) -> None:
    import qwen_vl_utils as qwen

    vlm.install("qwen_vl_utils")
    content = [{"type": "video", "video": path, "fps": 4.0, "resized_height": 180, "resized_width": 320}]

    _, videos, words = qwen.process_vision_info(
        [{"role": "user", "content": content}], return_video_kwargs=True, return_video_metadata=True
    )

    frames, metadata = videos[0]
    assert frames.shape[0] == 8
    assert metadata["frames_indices"] == sampling.choose(50, 25.0, sampling="qwen", fps=4.0)
    assert (metadata["fps"], metadata["total_num_frames"]) == (25.0, 50)
    assert words["do_sample_frames"] is False
    with pytest.raises(tricodec.MediaNotFoundError, match=r"cannot open '/absent[.]mp4'"):
        qwen.process_vision_info([{"role": "user", "content": [{"type": "video", "video": "/absent.mp4"}]}])


@pytest.mark.needs_vlm
@pytest.mark.usefixtures("torchvision")
@pytest.mark.parametrize("ignores_ranges", [False, True])
def test_qwens_urls_are_read_as_before(path: str, ignores_ranges: bool) -> None:
    import qwen_vl_utils as qwen

    vlm.install("qwen_vl_utils")
    with range_server() as server:
        server.files["/a.mp4"] = Path(path).read_bytes()
        server.redirects["/moved.mp4"] = "/a.mp4"
        server.ignores_ranges = ignores_ranges
        for name in ("a.mp4", "moved.mp4"):
            content = {"type": "video", "video": f"{server.url}/{name}", "nframes": 4}
            sizes = {"resized_height": 168, "resized_width": 308}
            _, videos = qwen.process_vision_info([{"role": "user", "content": [{**content, **sizes}]}])
            assert tuple(videos[0].shape) == (4, 3, 168, 308)
        frames, metadata, _ = vlm.read_for_qwen(content)
    assert np.array_equal(frames.numpy().transpose(0, 2, 3, 1), rgb(path, metadata["frames_indices"]))


@pytest.mark.needs_torch
def test_the_reader_for_qwen_takes_a_part_as_its_package_does(path: str) -> None:
    frames, metadata, sampled_fps = vlm.read_for_qwen(
        {"video": "file://" + path, "video_start": 0.42, "video_end": 1.5, "nframes": 6}
    )
    assert tuple(frames.shape[:2]) == (6, 3)
    assert (metadata["frames_indices"][0], metadata["frames_indices"][-1]) == (11, 37)
    assert metadata["total_num_frames"] == 27
    assert sampled_fps == pytest.approx(6 / 27 * 25)


@pytest.mark.needs_vlm
@pytest.mark.usefixtures("torchvision")
def test_packages_have_the_names_of_pypi_too() -> None:
    vlm.install("qwen-vl-utils", "Transformers")


def test_other_packages_are_named() -> None:
    with pytest.raises(ValueError, match="package 'ollama' is not one of transformers, qwen_vl_utils, vllm, sglang"):
        vlm.install("ollama")
    with pytest.raises(ValueError, match="chroma"):
        vlm.install(chroma="linear")
