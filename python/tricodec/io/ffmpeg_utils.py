# SPDX-License-Identifier: Apache-2.0
"""What the FFmpeg libraries in use have, by the names of torchaudio.utils.ffmpeg_utils."""

from __future__ import annotations

from tricodec import _tricodec

__all__ = [
    "clear_cuda_context_cache",
    "get_audio_decoders",
    "get_audio_encoders",
    "get_build_config",
    "get_demuxers",
    "get_input_devices",
    "get_input_protocols",
    "get_log_level",
    "get_muxers",
    "get_output_devices",
    "get_output_protocols",
    "get_versions",
    "get_video_decoders",
    "get_video_encoders",
    "probe_encoder",
    "set_log_level",
]


def get_versions() -> dict[str, tuple[int, int, int]]:
    """Versions of libavutil, libavcodec, libavformat, and, where they are installed, libavfilter and libavdevice."""
    return _tricodec.ffmpeg_versions()


def get_build_config() -> str:
    """The options that FFmpeg was configured with."""
    return _tricodec.ffmpeg_build_config()


def get_log_level() -> int:
    """Up to which level FFmpeg's messages are shown on the logger ``tricodec``.

    Returns:
        -8 quiet, 0 panic, 8 fatal, 16 error, 24 warning, 32 info, 40 verbose, 48 debug or 56 trace. It is -8 until one
        is set.
    """
    return _tricodec.ffmpeg_log_level()


def set_log_level(level: int) -> None:
    """Show FFmpeg's messages up to `level` on the logger ``tricodec``, or with -8 show none.

    Args:
        level: one of the numbers that `get_log_level` lists.
    """
    _tricodec.set_ffmpeg_log_level(level)


def get_demuxers() -> dict[str, str]:
    """Demuxers: short to long name. Devices are not among them."""
    return _tricodec.ffmpeg_formats(False)


def get_muxers() -> dict[str, str]:
    """Muxers: short to long name. Devices are not among them."""
    return _tricodec.ffmpeg_formats(True)


def get_audio_decoders() -> dict[str, str]:
    """Audio decoders: short to long name."""
    return _tricodec.ffmpeg_codecs(False, "audio")


def get_audio_encoders() -> dict[str, str]:
    """Audio encoders: short to long name."""
    return _tricodec.ffmpeg_codecs(True, "audio")


def get_video_decoders() -> dict[str, str]:
    """Video decoders: short to long name."""
    return _tricodec.ffmpeg_codecs(False, "video")


def get_video_encoders() -> dict[str, str]:
    """Video encoders: short to long name. That one is listed does not mean that its hardware is there."""
    return _tricodec.ffmpeg_codecs(True, "video")


def get_input_devices() -> dict[str, str]:
    """Devices to read from, ``lavfi`` among them: short to long name."""
    return _tricodec.ffmpeg_devices(False)


def get_output_devices() -> dict[str, str]:
    """Devices to write to: short to long name."""
    return _tricodec.ffmpeg_devices(True)


def get_input_protocols() -> list[str]:
    """Protocols that FFmpeg can read; a `StreamReader` uses only those that it is allowed."""
    return _tricodec.ffmpeg_protocols(False)


def get_output_protocols() -> list[str]:
    """Protocols that FFmpeg can write."""
    return _tricodec.ffmpeg_protocols(True)


def probe_encoder(name: str, device: str = "cpu") -> tuple[bool, str]:
    """Whether an encoder works here: it encodes a picture or a second of silence.

    Args:
        name: FFmpeg's name: "libx264", "h264_nvenc", "aac", ...
        device: where the frames are: "cpu", or "cuda" and "cuda:N" for a GPU's memory.

    Returns:
        Whether it does, and the reason if it does not.

    Raises:
        ValueError: if there is no encoder of this name.
    """
    return _tricodec.probe_encoder(name, device)


def clear_cuda_context_cache() -> None:
    """Forget the GPU contexts that streams share; streams that are open keep theirs."""
    _tricodec.clear_cuda_context_cache()
