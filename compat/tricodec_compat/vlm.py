# SPDX-License-Identifier: Apache-2.0
"""tricodec as the video reader of the packages that feed vision-language models.

    from tricodec_compat import vlm

    vlm.install("transformers", "qwen_vl_utils", "vllm", "sglang")

After that transformers' video processors and ``load_video(backend="tricodec")``, qwen-vl-utils' ``process_vision_info``
vLLM's loader and backend ``"tricodec"``, and SGLang's decoder read videos with tricodec. The frames are chosen by those
packages' own rules, with the pixels of their own loaders, and the metadata state the source's rate and frame numbers.
docs/migration/compat.md has an example of each.
"""

from __future__ import annotations

import functools
import importlib
import sys
import urllib.request
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, Literal

from tricodec import FrameReader, Transform, asnumpy
from tricodec.video import SwscaleRgb

from tricodec_compat._packages import install_packages
from tricodec_compat._turns import opened
from tricodec_compat.sampling import chosen

NAME = "tricodec"

Chroma = Literal["interpolated", "nearest"]

#: How chroma is upsampled; None is as the packages' own loaders do, by libswscale.
_chroma: Chroma | None = None


def install(*packages: str, chroma: Chroma | None = None) -> None:
    """Make tricodec the video reader of packages that are installed. A second call changes `chroma` alone.

    Args:
        *packages: "transformers", "qwen_vl_utils", "vllm", "sglang".
        chroma: None gives the pixels of the packages' own loaders, which are those of ``ffmpeg -pix_fmt rgb24``; else
            the conversion of `Transform` with this ``chroma``. SGLang's are always the first.

    Raises:
        ValueError: another name is given.
        ImportError: a package is not installed.
    """
    global _chroma  # noqa: PLW0603
    Transform(chroma=chroma or "nearest")  # refuses other values
    _chroma = chroma
    for package in packages:
        name = package.lower().replace("-", "_")
        if name not in _INSTALLERS:
            raise ValueError(f"package {package!r} is not one of {', '.join(_INSTALLERS)}")
        _INSTALLERS[name]()


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
    device = _device_name(kwargs.get("device"))
    with opened(video, only_gpu=True, output_device="cpu", device=device) as reader:
        metadata = metadata_class(
            total_num_frames=reader.num_frames, fps=reader.fps, width=reader.width, height=reader.height,
            duration=reader.duration, video_backend=NAME,
        )  # fmt: skip
        indices = sample_indices_fn(metadata=metadata, **kwargs)
        metadata.frames_indices = [int(index) for index in indices]
        frames = _read(reader, metadata.frames_indices)
    return asnumpy(frames), metadata


def read_for_qwen(ele: dict[str, Any]) -> tuple[Any, dict[str, Any], float]:
    """A reader as qwen-vl-utils' ``VIDEO_READER_BACKENDS`` has them, with its rule and its options.

    Args:
        ele: ``video`` (a path, also as file://, or an http or https URL), and fps or nframes, min_frames, max_frames,
            video_start, video_end.

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
    source = _opened(ele["video"])
    with opened(source, only_gpu=True, device="cpu") as reader:
        indices = chosen(reader, "qwen", dict(words))
        frames = torch.from_numpy(_read(reader, indices)).permute(0, 3, 1, 2)
        fps, total = reader.fps, reader.num_frames
    if "start_s" in words or "end_s" in words:  # the rule takes the first and the last frame of the part
        total = indices[-1] - indices[0] + 1
    metadata = {"fps": fps, "frames_indices": indices, "total_num_frames": total, "video_backend": NAME}
    return frames, metadata, len(indices) / max(total, 1e-6) * fps


def _opened(source: Any) -> Any:
    """What a reader takes for a path or URL as the packages write it. A server may give no ranges: all is fetched."""
    if not isinstance(source, str):
        return source
    if source.lower().startswith(("http://", "https://")):
        with urllib.request.urlopen(source, timeout=60) as answer:
            return answer.read()
    return source.removeprefix("file://")


def _read(reader: FrameReader, indices: list[int]) -> Any:
    """Frames [F, H, W, 3] of uint8: a numpy array, or a DeviceArray."""
    if _chroma is None and reader.device == "cpu":
        return reader.batch(indices, _swscale())
    return reader.batch(indices, chroma=_chroma or "nearest")


@functools.cache
def _swscale() -> SwscaleRgb:
    return SwscaleRgb()


def decode_for_vllm(
    loader_cls: Any, data: bytes, target: Any, sampling_kwargs: Mapping[str, Any], *, device: str = "cpu"
) -> tuple[Any, Any, list[int], list[int]]:
    """A decoder as vLLM's ``video_decoders`` has them: the loader of the model chooses the frames.

    Args:
        loader_cls: vLLM's ``VideoLoader`` of the model.
        data: a video file.
        target: vLLM's ``VideoTargetMetadata``.
        sampling_kwargs: what else the loader's rule takes.
        device: where to decode: "cpu" or "cuda".

    Returns:
        The frames, [F, H, W, 3] of uint8: a numpy array, or torch's tensor on the GPU; vLLM's
        ``VideoSourceMetadata``; and the numbers of the frames, twice.

    Raises:
        ValueError: if a frame has more pixels than vLLM's ``VLLM_MAX_IMAGE_PIXELS``.
    """
    base = importlib.import_module("vllm.multimodal.video_decoders.base")
    with opened(data, only_gpu=True, device=device) as reader:
        base.check_frame_pixel_limit(reader.width, reader.height)
        source = loader_cls._prepare_source(base.VideoSourceMetadata(reader.num_frames, reader.fps, reader.duration))
        wanted = loader_cls.compute_frames_index_to_sample(source=source, target=target, **sampling_kwargs)
        indices = [int(index) for index in wanted]
        frames = _read(reader, indices)
    if hasattr(frames, "wait_on"):
        frames = importlib.import_module("torch").from_dlpack(frames)
    return frames, source, indices, indices


def make_vllm_loader(base: type) -> type:
    """A class for vLLM's ``VIDEO_LOADER_REGISTRY``: the loader `base`, which decodes with tricodec by default.

    Args:
        base: vLLM's ``VideoBackend``.
    """

    class TricodecVideoLoader(base):  # type: ignore[misc]  # vLLM's
        """Reads bytes of a video with tricodec."""

        @classmethod
        def load_bytes(cls, data: bytes, *args: Any, backend: str = NAME, **kwargs: Any) -> Any:
            return super().load_bytes(data, *args, backend=backend, **kwargs)

    return TricodecVideoLoader


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
    if not hasattr(importlib.import_module("torchvision.io"), "read_video"):
        # The package tries this backend again after any error, and its own one would hide the error by another.
        module.VIDEO_READER_BACKENDS["torchvision"] = read_for_qwen
    module.FORCE_QWENVL_VIDEO_READER = NAME
    getattr(module.get_video_reader_backend, "cache_clear", lambda: None)()


def _install_vllm() -> None:
    video = importlib.import_module("vllm.multimodal.video")
    decoders: Any = importlib.import_module("vllm.multimodal.video_decoders")
    module: Any = ModuleType(f"{decoders.__name__}.{NAME}")  # vLLM imports a backend by its name
    setattr(module, f"decode_{NAME}", decode_for_vllm)
    sys.modules[module.__name__] = module
    decoders._BACKEND_OPTION_DEFAULTS[NAME] = {"device": "cpu"}
    video.VIDEO_LOADER_REGISTRY.register(NAME)(make_vllm_loader(video.VideoBackend))


def install_vllm() -> None:
    """The entry point of ``vllm.general_plugins``: vLLM calls it in each of its processes."""
    _install_vllm()


def _install_sglang() -> None:
    install_packages(["torchcodec"])
    module: Any = importlib.import_module("sglang.srt.utils.video_decoder")
    module.VideoDecoder = importlib.import_module("torchcodec.decoders").VideoDecoder
    module._BACKEND = "torchcodec"

    def decode_at_once(self: Any, indices: Any, num_threads: int) -> Any:
        """One decoder has as many threads as there are cores; several would decode the same groups of pictures."""
        frames = self._decoder.get_frames_at(indices).data
        return frames if module._is_cpu_engine() or frames.is_cuda else frames.pin_memory()

    module.VideoDecoderWrapper._parallel_decode = decode_at_once


_INSTALLERS: dict[str, Callable[[], None]] = {
    "transformers": _install_transformers,
    "qwen_vl_utils": _install_qwen,
    "vllm": _install_vllm,
    "sglang": _install_sglang,
}


def _device_name(device: Any) -> Any:
    return "cpu" if device is None else device
