# SPDX-License-Identifier: Apache-2.0
"""tricodec as the video reader of the packages that feed vision-language models.

    from tricodec import vlm

    vlm.install("transformers", "qwen_vl_utils", "vllm")

After that transformers' video processors and ``load_video(backend="tricodec")``, qwen-vl-utils' ``process_vision_info``
and vLLM's loader ``"tricodec"`` read videos with tricodec. The frames are chosen by those packages' own rules, and the
metadata state the source's rate and frame numbers. docs/howto/vlm.md has an example of each.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from tricodec._tricodec import FrameReader
from tricodec.sampling import SampledVideo, sample

PACKAGES = ("transformers", "qwen_vl_utils", "vllm")
NAME = "tricodec"


def install(*packages: str) -> None:
    """Make tricodec the video reader of packages that are installed. A second call does nothing.

    Args:
        *packages: "transformers", "qwen_vl_utils", "vllm".

    Raises:
        ValueError: another name is given.
        ImportError: a package is not installed.
    """
    for package in packages:
        if package not in _INSTALLERS:
            raise ValueError(f"package {package!r} is not one of {', '.join(_INSTALLERS)}")
        _INSTALLERS[package]()


def read_for_transformers(video: Any, sample_indices_fn: Callable[..., Any], **kwargs: Any) -> tuple[Any, Any]:
    """A reader as transformers' ``VIDEO_DECODERS`` has them.

    Args:
        video: a path, or an object with ``read()``.
        sample_indices_fn: called with ``metadata=`` of the source; returns frame numbers.
        **kwargs: passed to it; ``device`` is where to decode, "cpu" by default.

    Returns:
        A numpy array [F, H, W, 3] of uint8, and the package's ``VideoMetadata``.
    """
    metadata_class = importlib.import_module("transformers.video_utils").VideoMetadata
    with FrameReader(video, device=_device_name(kwargs.get("device"))) as reader:
        metadata = metadata_class(
            total_num_frames=reader.num_frames,
            fps=reader.fps,
            width=reader.width,
            height=reader.height,
            duration=reader.duration,
            video_backend=NAME,
        )
        indices = sample_indices_fn(metadata=metadata, **kwargs)
        chosen = [int(index) for index in indices]
        frames = reader.batch(chosen)
        metadata.frames_indices = chosen
    return _on_host(frames), metadata


def read_for_qwen(ele: dict[str, Any]) -> tuple[Any, dict[str, Any], float]:
    """A reader as qwen-vl-utils' ``VIDEO_READER_BACKENDS`` has them, with its rule and its words.

    Args:
        ele: ``video`` (a path, also as file://), and fps or nframes, min_frames, max_frames, video_start, video_end.

    Returns:
        A uint8 tensor [F, 3, H, W], the metadata of the source, and the sampled frames a second.
    """
    import torch

    words = {
        word: ele[key]
        for key, word in {
            "fps": "fps", "nframes": "num_frames", "min_frames": "min_frames", "max_frames": "max_frames",
            "video_start": "start_s", "video_end": "end_s",
        }.items()
        if ele.get(key) is not None
    }  # fmt: skip
    if "num_frames" in words:  # the package ignores them then
        words.pop("min_frames", None)
        words.pop("max_frames", None)
    source = ele["video"]
    if isinstance(source, str):
        source = source.removeprefix("file://")
    video = sample(source, sampling="qwen", device="cpu", layout="CHW", **words)
    total = _part_size(video, words)
    metadata = {
        "fps": video.fps, "frames_indices": video.indices.tolist(), "total_num_frames": total, "video_backend": NAME,
    }  # fmt: skip
    return torch.from_numpy(video.frames), metadata, len(video) / max(total, 1e-6) * video.fps


def _part_size(video: SampledVideo, words: dict[str, Any]) -> int:
    """Number of frames from the first to the last that the rule may take, which are both taken."""
    if "start_s" not in words and "end_s" not in words:
        return video.num_frames
    return int(video.indices[-1] - video.indices[0]) + 1


def make_vllm_loader(base: type) -> type:
    """A class for vLLM's ``VIDEO_LOADER_REGISTRY``.

    Args:
        base: vLLM's ``VideoLoader``.
    """

    class TricodecVideoLoader(base):  # type: ignore[misc]  # vLLM's
        """Reads bytes of a video evenly: num_frames, or at fps up to max_duration seconds."""

        @classmethod
        def load_bytes(
            cls, data: bytes, num_frames: int = -1, fps: float = -1, max_duration: float = 300, **kwargs: Any
        ) -> tuple[Any, dict[str, Any]]:
            return read_for_vllm(data, num_frames, fps, max_duration)

    return TricodecVideoLoader


def read_for_vllm(
    data: bytes, num_frames: int = -1, fps: float = -1, max_duration: float = 300
) -> tuple[Any, dict[str, Any]]:
    """What vLLM's own loaders do: evenly, cut off to whole numbers, the fewer of `num_frames` and what `fps` gives.

    Args:
        data: a video file.
        num_frames: most frames; -1 is all.
        fps: frames a second for videos of at most `max_duration` seconds; -1 is the source's.
        max_duration: seconds of video for which `fps` counts.

    Returns:
        A uint8 array [F, H, W, 3] and the metadata of vLLM.
    """
    with FrameReader(data, device="cpu") as reader:
        total = reader.num_frames
        count = total if num_frames < 0 else min(num_frames, total)
        if fps > 0:
            count = min(count, max(1, int(min(reader.duration, max_duration) * fps)))
        video = sample(reader, sampling="uniform_floor", num_frames=max(1, count))
    metadata = {
        key: value for key, value in video.metadata.items() if key not in ("width", "height")
    } | {"do_sample_frames": len(video) == total}  # fmt: skip
    return video.frames, metadata


def _install_transformers() -> None:
    utils = importlib.import_module("transformers.video_utils")
    utils.VIDEO_DECODERS[NAME] = read_for_transformers
    processors = importlib.import_module("transformers.video_processing_utils")
    mixin = getattr(processors, "VideoProcessorMixin", None) or processors.BaseVideoProcessor

    def fetch_videos(self: Any, video_url_or_urls: Any, sample_indices_fn: Any = None) -> Any:
        if isinstance(video_url_or_urls, list):
            read = [self.fetch_videos(each, sample_indices_fn=sample_indices_fn) for each in video_url_or_urls]
            return list(zip(*read, strict=True))
        return utils.load_video(video_url_or_urls, backend=NAME, sample_indices_fn=sample_indices_fn)

    mixin.fetch_videos = fetch_videos


def _install_qwen() -> None:
    module: Any = importlib.import_module("qwen_vl_utils.vision_process")
    module.VIDEO_READER_BACKENDS[NAME] = read_for_qwen
    module.FORCE_QWENVL_VIDEO_READER = NAME
    getattr(module.get_video_reader_backend, "cache_clear", lambda: None)()


def _install_vllm() -> None:
    video = importlib.import_module("vllm.multimodal.video")
    video.VIDEO_LOADER_REGISTRY.register(NAME)(make_vllm_loader(video.VideoLoader))


_INSTALLERS: dict[str, Callable[[], None]] = {
    "transformers": _install_transformers,
    "qwen_vl_utils": _install_qwen,
    "vllm": _install_vllm,
}


def _device_name(device: Any) -> Any:
    return "cpu" if device is None else device


def _on_host(frames: Any) -> Any:
    return frames.numpy() if hasattr(frames, "wait_on") else frames
