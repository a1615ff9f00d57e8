# SPDX-License-Identifier: Apache-2.0
"""The abilities of the FFmpeg libraries in use, by the names of torchaudio.utils.ffmpeg_utils."""

from __future__ import annotations

from tricodec._tricodec import clear_cuda_context_cache as clear_cuda_contexts
from tricodec._tricodec import (
    ffmpeg_build_config,
    ffmpeg_codecs,
    ffmpeg_devices,
    ffmpeg_formats,
    ffmpeg_log_level,
    ffmpeg_protocols,
    ffmpeg_versions,
    set_ffmpeg_log_level,
)
from tricodec._tricodec import probe_encoder as find_encoder

__all__ = [
    "clear_cuda_context_cache", "get_audio_decoders", "get_audio_encoders", "get_build_config", "get_demuxers",
    "get_input_devices", "get_input_protocols", "get_log_level", "get_muxers", "get_output_devices",
    "get_output_protocols", "get_versions", "get_video_decoders", "get_video_encoders", "probe_encoder",
    "set_log_level",
]  # fmt: skip


def get_versions() -> dict[str, tuple[int, int, int]]:
    """Versions of libavutil, libavcodec, libavformat and, if installed, libavfilter and libavdevice."""
    return ffmpeg_versions()


def get_build_config() -> str:
    """The options of FFmpeg's build."""
    return ffmpeg_build_config()


def get_log_level() -> int:
    """The level up to which the logger ``tricodec`` shows FFmpeg's messages.

    Returns:
        -8 quiet (the default), 0 panic, 8 fatal, 16 error, 24 warning, 32 info, 40 verbose, 48 debug or 56 trace.
    """
    return ffmpeg_log_level()


def set_log_level(level: int) -> None:
    """Set the level up to which the logger ``tricodec`` shows FFmpeg's messages.

    Args:
        level: one of the numbers that `get_log_level` lists.
    """
    set_ffmpeg_log_level(level)


def get_demuxers() -> dict[str, str]:
    """Demuxers without devices: short to long name."""
    return ffmpeg_formats(False)


def get_muxers() -> dict[str, str]:
    """Muxers without devices: short to long name."""
    return ffmpeg_formats(True)


def get_audio_decoders() -> dict[str, str]:
    """Audio decoders: short to long name."""
    return ffmpeg_codecs(False, "audio")


def get_audio_encoders() -> dict[str, str]:
    """Audio encoders: short to long name."""
    return ffmpeg_codecs(True, "audio")


def get_video_decoders() -> dict[str, str]:
    """Video decoders: short to long name."""
    return ffmpeg_codecs(False, "video")


def get_video_encoders() -> dict[str, str]:
    """Video encoders: short to long name. The hardware of a listed encoder may be missing."""
    return ffmpeg_codecs(True, "video")


def get_input_devices() -> dict[str, str]:
    """Input devices, also ``lavfi``: short to long name."""
    return ffmpeg_devices(False)


def get_output_devices() -> dict[str, str]:
    """Output devices: short to long name."""
    return ffmpeg_devices(True)


def get_input_protocols() -> list[str]:
    """Protocols that FFmpeg can read. A `StreamReader` uses only those that its caller allows."""
    return ffmpeg_protocols(False)


def get_output_protocols() -> list[str]:
    """Protocols that FFmpeg can write."""
    return ffmpeg_protocols(True)


def probe_encoder(name: str, device: str = "cpu") -> tuple[bool, str]:
    """Test an encoder on this machine with a picture or a second of silence.

    Args:
        name: FFmpeg's name: "libx264", "h264_nvenc", "aac", ...
        device: location of the frames: "cpu", or "cuda" and "cuda:N" for GPU memory.

    Returns:
        Whether the encoder works, and the reason if it does not.

    Raises:
        ValueError: there is no encoder of this name.
    """
    return find_encoder(name, device)


def clear_cuda_context_cache() -> None:
    """Release the GPU contexts that streams share. Open streams keep theirs."""
    clear_cuda_contexts()
