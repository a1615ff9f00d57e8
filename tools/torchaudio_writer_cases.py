# SPDX-License-Identifier: Apache-2.0
"""What torchaudio's unit tests of StreamWriter look at: functions of the package and of a folder to write to."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from torchaudio_reader_cases import RATE, Case


def ended(folder: Path, path: Path) -> Any:
    """The file's bytes' MD5 would tell of time stamps in headers: what an independent decoder says of it instead."""
    decoded = subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "error", "-i", path, "-map", "0", "-f", "framemd5", "-"],
        capture_output=True, check=True, cwd=folder, text=True,
    ).stdout  # fmt: skip
    command = ["ffprobe", "-v", "error", "-show_streams", "-show_format", "-of", "json", path]
    facts = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    # The writer is a tag that tricodec leaves out, so that the same frames are the same bytes.
    for part in (facts["format"], *facts["streams"]):
        written_by = ("encoder", "software")
        part["tags"] = {key: each for key, each in part.get("tags", {}).items() if key.lower() not in written_by}
    for name in ("filename", "size", "bit_rate"):
        facts["format"].pop(name, None)
    return [facts, decoded.splitlines()]


def written(io: Any, folder: Path, name: str, add: Case, kind: str = "path", **options: Any) -> Any:
    path = folder / name
    file = path.open("wb+") if kind == "file" else None
    writer = io.StreamWriter(file or str(path), format=name.rsplit(".", 1)[1].replace("mkv", "matroska"))
    if "metadata" in options:
        writer.set_metadata({"artist": "nobody", "title": "first"})
        writer.set_metadata(options["metadata"])
    write = add(io, writer)
    with writer.open(options.get("open")):
        write()
    if file is not None:
        file.close()
    return path.read_bytes() if name.endswith("rawvideo") else ended(folder, path)


def pictures(frames: int, channels: int, height: int, width: int) -> Any:
    import torch

    steps = torch.arange(frames * channels * height * width, dtype=torch.int64)
    return (
        ((steps * 2654435761 >> 18) % 251 // 2 + steps % width % 120)
        .to(torch.uint8)
        .reshape(frames, channels, height, width)
    )


def tones(rate: int, channels: int, sample_format: str, seconds: float = 1.0) -> Any:
    import torch

    kinds = {"u8": torch.uint8, "s16": torch.int16, "s32": torch.int32, "s64": torch.int64,
             "flt": torch.float32, "dbl": torch.float64}  # fmt: skip
    kind = kinds[sample_format]
    phase = torch.arange(int(rate * seconds), dtype=torch.float64) * (440 * 2 * torch.pi / rate)
    wave = torch.stack([torch.sin(phase * (1 + i)) for i in range(channels)], 1) * 0.5
    if kind.is_floating_point:
        return wave.to(kind)
    return (wave * 100 + 128).to(kind) if kind == torch.uint8 else (wave * torch.iinfo(torch.int16).max).to(kind)


def video(rate: float, size: tuple[int, int], pixel_format: str, frames: int = 12, **options: Any) -> Case:
    """Adds a stream of video; what it returns writes the pictures."""

    def add(io: Any, writer: Any) -> Any:
        width, height = size
        config = options.pop("config", None)
        more = {"codec_config": io.CodecConfig(**config)} if config else {}
        if config:
            options["config"] = config
        given = {key: value for key, value in options.items() if key not in ("config", "pts", "pieces")}
        if pixel_format == "gray8" or "encoder" in given or "encoder_format" in given or config:
            pass
        else:  # the container's choice, without what makes libx264 decide by memory that it has not written
            given["encoder_option"] = {"x264-params": "mbtree=0"}
        writer.add_video_stream(rate, width, height, format=pixel_format, **given, **more)
        data = pictures(frames, 1 if pixel_format == "gray8" else 3, height, width)
        if "pieces" in options:
            return lambda: [writer.write_video_chunk(0, data[i : i + 5], pts) for i, pts in options["pieces"]]
        return lambda: writer.write_video_chunk(0, data)

    return add


def audio(rate: int, channels: int, sample_format: str, **options: Any) -> Case:
    """As `video`, of sound."""

    def add(_: Any, writer: Any) -> Any:
        writer.add_audio_stream(rate, channels, format=sample_format, **options)
        return lambda: writer.write_audio_chunk(0, tones(rate, channels, sample_format))

    return add


def both(io: Any, writer: Any) -> Any:
    """Sound of three channels and pictures, in one file."""
    writer.add_audio_stream(16000, 3)
    writer.add_video_stream(RATE, 320, 240, format="yuv444p")

    def write() -> None:
        writer.write_audio_chunk(0, tones(16000, 3, "flt"))
        writer.write_video_chunk(1, pictures(30, 3, 240, 320))

    return write


def unwritten(io: Any, folder: Path, do: Callable[[Any, Any], Any]) -> Any:
    import torch

    writer = io.StreamWriter(str(folder / "wrong.mp4"))
    return do(writer, torch)


def writer_cases() -> list[tuple[str, Case]]:
    """Names and functions."""
    cases: list[tuple[str, Case]] = []
    for kind in ("path", "file"):
        for sample_format in ("u8", "s16", "s32", "flt", "dbl"):
            for rate, channels in ((8000, 1), (16000, 2), (44100, 4)):
                label = f"writer.wav[{kind}-{sample_format}-{rate}-{channels}]"
                cases.append(
                    (label, partial(written, name="a.wav", add=audio(rate, channels, sample_format), kind=kind))
                )
        for name, rate, channels, encoder_format, option in (
            ("a.mp3", 8000, 1, "s32p", None), ("a.mp3", 16000, 2, "fltp", None),
            ("a.mp3", 44100, 1, "s16p", {"abr": "true"}),
            ("a.flac", 8000, 1, "s16", None), ("a.flac", 16000, 2, "s32", None),
            ("a.opus", 48000, 2, None, {"strict": "experimental"}), ("a.adts", 8000, 1, "fltp", None),
        ):  # fmt: skip
            add = audio(rate, channels, "flt", encoder_option=option, encoder_format=encoder_format)
            cases.append(
                (
                    f"writer.audio[{kind}-{name}-{rate}-{encoder_format}]",
                    partial(written, name=name, add=add, kind=kind),
                )
            )
        for pixel_format in ("gray8", "rgb24", "bgr24", "yuv444p"):
            for size in ((128, 64), (720, 576)):
                add = video(10, size, pixel_format)
                cases.append(
                    (f"writer.mp4[{kind}-{pixel_format}-{size}]", partial(written, name="a.mp4", add=add, kind=kind))
                )
        for source, target in (
            ("gray8", "gray8"), ("rgb24", "rgb24"), ("bgr24", "bgr24"), ("yuv444p", "yuv444p"),
            ("rgb24", "yuv444p"), ("bgr24", "yuv444p"),
        ):  # fmt: skip
            add = video(RATE, (720, 576), source, encoder_format=target)
            cases.append(
                (f"writer.raw[{kind}-{source}-{target}]", partial(written, name="a.rawvideo", add=add, kind=kind))
            )
        cases.append(
            (f"writer.both[{kind}]", partial(written, name="a.mp4", add=both, kind=kind, metadata={"title": "second"}))
        )
    size = (160, 120)
    lossless = {"encoder": "libx264", "encoder_option": {"preset": "ultrafast", "qp": "0"}, "encoder_format": "yuv444p"}
    config = {"bit_rate": 200000, "gop_size": 7, "max_b_frames": 0}
    files: dict[str, tuple[str, Case, dict[str, Any]]] = {
        "frames": ("a.mp4", video(25, (96, 78), "yuv444p", 256), {}),
        "rate": ("a.mp4", video(5000 / 167, (96, 128), "rgb24", 90), {}),
        "size": ("a.mkv", video(30, size, "rgb24", encoder_width=80, encoder_height=64), {}),
        "encoder_rate": ("a.mkv", video(30, size, "rgb24", 30, encoder_frame_rate=15), {}),
        "filter": ("a.mkv", video(30, size, "rgb24", filter_desc="hflip"), {}),
        "config": ("a.mkv", video(30, size, "rgb24", 40, config=config), {}),
        "qscale": ("a.avi", video(30, size, "rgb24", 40, config={"qscale": 3}), {}),
        "option": ("a.mp4", video(30, size, "yuv444p", **lossless), {}),
        "times": ("a.mkv", video(30, size, "rgb24", 12, pieces=((0, 0.0), (5, 2.0))), {}),
        "open": ("a.mp4", video(30, size, "rgb24"), {"open": {"movflags": "frag_keyframe+empty_moov"}}),
        "open_option": ("a.mp4", video(30, size, "rgb24"), {"open": {"foo": "bar"}}),
    }
    for label, (name, add, options) in files.items():
        cases.append((f"writer.{label}", partial(written, name=name, add=add, **options)))

    def picture(torch: Any, *shape: int, **options: Any) -> Any:
        return torch.zeros(*shape, **(options or {"dtype": torch.uint8}))

    def with_video(writer: Any, chunk: Any) -> None:
        writer.add_video_stream(30, 64, 48)
        writer.open().write_video_chunk(0, chunk)

    def with_audio(writer: Any, number: int, chunk: Any, pts: float | None = None) -> None:
        writer.add_audio_stream(8000, 1)
        writer.open()
        (writer.write_audio_chunk if chunk.ndim == 2 else writer.write_video_chunk)(number, chunk, pts)

    mistakes: dict[str, Callable[[Any, Any], Any]] = {
        "encoder": lambda w, _: w.add_video_stream(30, 64, 48, encoder="no_such_encoder"),
        "encoder_option": lambda w, _: w.add_video_stream(30, 64, 48, encoder_option={"foo": "bar"}),
        "encoder_format": lambda w, _: w.add_video_stream(30, 64, 48, encoder="libx264", encoder_format="rgb48le"),
        "format": lambda w, _: w.add_video_stream(30, 64, 48, format="yuv410p"),
        "sample_format": lambda w, _: w.add_audio_stream(8000, 1, format="foo"),
        "not_open": lambda w, t: (w.add_video_stream(30, 64, 48), w.write_video_chunk(0, picture(t, 1, 3, 48, 64))),
        "add_after_open": lambda w, _: (w.add_video_stream(30, 64, 48), w.open(), w.add_video_stream(30, 64, 48)),
        "float": lambda w, t: with_video(w, picture(t, 1, 3, 48, 64, dtype=t.float32)),
        "shape": lambda w, t: with_video(w, picture(t, 1, 3, 48, 65)),
        "dimensions": lambda w, t: with_video(w, picture(t, 3, 48, 64)),
        "kind": lambda w, t: with_audio(w, 0, picture(t, 1, 3, 48, 64)),
        "number": lambda w, t: with_audio(w, 1, t.zeros(8, 1)),
        "pts": lambda w, t: with_audio(w, 0, t.zeros(8, 1), -1.0),
    }
    return cases + [(f"writer.mistake[{name}]", partial(unwritten, do=do)) for name, do in mistakes.items()]
