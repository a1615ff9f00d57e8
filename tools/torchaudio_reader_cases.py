# SPDX-License-Identifier: Apache-2.0
"""What torchaudio's unit tests of StreamReader look at: functions of the package and of a folder of media."""

from __future__ import annotations

import io as python_io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

Case = Callable[[Any, Path], Any]
RATE = 30000 / 1001


def media(folder: Path, name: str = "six.mp4") -> str:
    """A clip's path."""
    return str(folder / "media" / name)


def sources(folder: Path, kind: str, name: str = "six.mp4") -> Any:
    """A path, or an open file."""
    path = media(folder, name)
    return path if kind == "path" else python_io.BytesIO(Path(path).read_bytes())


def everything(reader: Any) -> Any:
    """All chunks of all outputs."""
    reader.process_all_packets()
    return reader.pop_chunks()


def describe_source(io: Any, folder: Path, kind: str) -> Any:
    reader = io.StreamReader(sources(folder, kind))
    described = [reader.get_src_stream_info(i) for i in range(reader.num_src_streams)]
    return [
        reader.num_src_streams,
        reader.default_audio_stream,
        reader.default_video_stream,
        reader.get_metadata(),
        described,
    ]


def describe_file(io: Any, folder: Path, name: str) -> Any:
    reader = io.StreamReader(media(folder, name))
    return [
        reader.default_audio_stream,
        reader.default_video_stream,
        reader.get_metadata(),
        reader.get_src_stream_info(0),
    ]


def describe_outputs(io: Any, folder: Path) -> Any:
    reader = io.StreamReader(media(folder))
    for filters in (None, "aresample=8000", "aformat=sample_fmts=s16p"):
        reader.add_audio_stream(-1, filter_desc=filters)
    for filters in (None, "fps=10", "format=rgb24", "scale=w=160:h=90"):
        reader.add_video_stream(-1, filter_desc=filters)
    reader.add_basic_audio_stream(-1, format=None)
    reader.add_basic_audio_stream(-1, sample_rate=8000)
    reader.add_basic_audio_stream(-1, format="s16p", num_channels=1)
    reader.add_basic_video_stream(-1, format=None)
    reader.add_basic_video_stream(-1, width=3, height=5)
    reader.add_basic_video_stream(-1, frame_rate=7)
    reader.add_basic_video_stream(-1, format="bgr24")
    before = [reader.get_out_stream_info(i) for i in range(reader.num_out_streams)]
    for number in (1, 1, 0):
        reader.remove_stream(number)
    return [before, [reader.get_out_stream_info(i) for i in range(reader.num_out_streams)]]


def wrong(io: Any, folder: Path, what: Callable[[Any], Any]) -> Any:
    return what(io.StreamReader(media(folder)))


def packets(io: Any, folder: Path) -> Any:
    reader = io.StreamReader(media(folder))
    codes = [reader.process_packet()]
    while codes[-1] == 0:
        codes.append(reader.process_packet())
    return [len(codes), codes[-1], reader.process_packet()]


def without_chunks(io: Any, folder: Path) -> Any:
    reader = io.StreamReader(media(folder))
    nothing = reader.pop_chunks()
    reader.add_basic_audio_stream(-1)
    reader.add_basic_video_stream(-1)
    return [nothing, reader.pop_chunks(), reader.is_buffer_ready()]


def exhausted(io: Any, folder: Path) -> Any:
    reader = io.StreamReader(media(folder))
    reader.add_basic_audio_stream(100, sample_rate=10, buffer_chunk_size=3)
    reader.add_basic_video_stream(200, frame_rate=10, buffer_chunk_size=3)
    reader.process_all_packets()
    return [reader.pop_chunks() for _ in range(4)]


def iterated(io: Any, folder: Path, kind: str, audio: int, video: int, count: int, **options: Any) -> Any:
    reader = io.StreamReader(sources(folder, kind))
    reader.add_basic_audio_stream(audio, sample_rate=8000)
    reader.add_basic_video_stream(video, **options)
    return [chunks for _, chunks in zip(range(count), reader.stream(), strict=False)]


def popped(io: Any, folder: Path, frames: int, waiting: int, name: str = "no_audio.mp4") -> Any:
    reader = io.StreamReader(media(folder, name))
    (reader.add_audio_stream if "no_video" in name else reader.add_video_stream)(frames, waiting)
    reader.process_all_packets()
    found = []
    while (chunk := reader.pop_chunks()[0]) is not None:
        found.append(chunk)
    return found


def times(io: Any, folder: Path, frames: int, name: str) -> Any:
    reader = io.StreamReader(media(folder, name))
    (reader.add_audio_stream if "no_video" in name else reader.add_video_stream)(frames, buffer_chunk_size=-1)
    return [[chunk.pts, chunk.shape[0]] for (chunk,) in reader.stream()]


def unchunked_times(io: Any, folder: Path) -> Any:
    reader = io.StreamReader(media(folder))
    reader.add_audio_stream(-1, buffer_chunk_size=-1)
    reader.add_video_stream(-1, buffer_chunk_size=-1)
    found = []
    while reader.process_packet() == 0:
        found += [[c.pts, c.shape[0]] for c in reader.pop_chunks() if c is not None]
    return found


def sought(io: Any, folder: Path, kind: str, name: str, mode: str, time: float) -> Any:
    reader = io.StreamReader(sources(folder, kind, name))
    reader.add_basic_video_stream(-1, stream_index=0, buffer_chunk_size=-1, width=96, height=54)
    reader.process_all_packets()
    first = reader.pop_chunks()[0].shape
    reader.seek(time, mode)
    return [list(first), everything(reader)]


def sought_often(io: Any, folder: Path, name: str) -> Any:
    reader = io.StreamReader(media(folder, name))
    (reader.add_video_stream if "video" not in name and "wav" not in name else reader.add_audio_stream)(-1)
    found = []
    for time in (0.0, 0.5, 1.0, 0.25, 1.5, 0.0):
        reader.seek(time)
        found.append(everything(reader))
    return found


def converted(io: Any, folder: Path, name: str, **options: Any) -> Any:
    reader = io.StreamReader(media(folder, name))
    reader.add_basic_video_stream(-1, buffer_chunk_size=-1, **options)
    return everything(reader)


def filtered(io: Any, folder: Path, name: str, filters: str) -> Any:
    reader = io.StreamReader(media(folder, name))
    (reader.add_audio_stream if filters.startswith("a") else reader.add_video_stream)(-1, filter_desc=filters)
    return everything(reader)


def sampled(io: Any, folder: Path, name: str, **options: Any) -> Any:
    reader = io.StreamReader(media(folder, name))
    reader.add_basic_audio_stream(-1, buffer_chunk_size=-1, **options)
    return everything(reader)


def generated(io: Any, _: Path, expression: str, **options: Any) -> Any:
    reader = io.StreamReader(expression, format="lavfi")
    reader.add_basic_video_stream(-1, **options)
    return everything(reader)


def raw(io: Any, folder: Path) -> Any:
    path = folder / "raw.yuv"
    path.write_bytes(np.random.default_rng(0).integers(0, 256, 3 * 64 * 48 * 3 // 2, np.uint8).tobytes())
    options = {"pixel_format": "yuv420p", "video_size": "64x48", "framerate": "10"}
    reader = io.StreamReader(str(path), format="rawvideo", option=options)
    reader.add_basic_video_stream(-1, format=None)
    return everything(reader)


def chunk_is_a_tensor(io: Any, folder: Path) -> Any:
    reader = io.StreamReader(media(folder, "s16le_2.wav"))
    reader.add_audio_stream(-1)
    (chunk,) = everything(reader)
    chunk[0] = 0
    import torch

    kinds = [type(each) is torch.Tensor for each in (chunk.sum(), torch.min(chunk), chunk.T, chunk[1:])]
    return [isinstance(chunk, torch.Tensor), kinds, chunk]


def reader_cases() -> list[tuple[str, Case]]:
    """Names and functions."""
    cases: list[tuple[str, Case]] = [
        (f"reader.source[{kind}]", partial(describe_source, kind=kind)) for kind in ("path", "file")
    ]
    for name in ("no_audio.mp4", "no_video.mp4", "tags.mp3", "mpeg4.avi", "u8_1.wav", "s32le_4.wav", "rgb.png"):
        cases.append((f"reader.file[{name}]", partial(describe_file, name=name)))
    cases += [
        ("reader.stream_info", partial(describe_file, name="no_times.h264")),
        ("reader.outputs", describe_outputs),
    ]
    for number in (-1, 6, 7):
        cases.append(
            (f"reader.no_such_source[{number}]", partial(wrong, what=lambda r, i=number: r.get_src_stream_info(i)))
        )
        cases.append(
            (f"reader.no_such_output[{number}]", partial(wrong, what=lambda r, i=number: r.get_out_stream_info(i)))
        )
        cases.append((f"reader.no_such_removed[{number}]", partial(wrong, what=lambda r, i=number: r.remove_stream(i))))
    for pair in ((0, 3), (3, 0), (-2, 3), (3, -2)):
        cases.append((f"reader.chunk_sizes{pair}", partial(wrong, what=lambda r, p=pair: r.add_audio_stream(*p))))
        cases.append((f"reader.video_chunk_sizes{pair}", partial(wrong, what=lambda r, p=pair: r.add_video_stream(*p))))
    mistakes: dict[str, Callable[[Any], Any]] = {
        "negative_seek": lambda r: r.seek(-1.0),
        "seek_mode": lambda r: r.seek(1.0, "magic"),
        "stream_without_output": lambda r: next(r.stream()),
        "audio_as_video": lambda r: r.add_video_stream(1, stream_index=1),
        "video_as_audio": lambda r: r.add_audio_stream(1, stream_index=0),
        "no_such_stream": lambda r: r.add_video_stream(1, stream_index=17),
        "decoder_option": lambda r: r.add_video_stream(1, decoder_option={"foo": "bar"}),
        "decoder": lambda r: r.add_video_stream(1, decoder="no_such_decoder"),
        "filter": lambda r: r.add_video_stream(1, filter_desc="no_such_filter"),
        "pixel_format": lambda r: r.add_basic_video_stream(1, format="no_such_format"),
    }
    cases += [(f"reader.mistake[{name}]", partial(wrong, what=do)) for name, do in mistakes.items()]
    cases += [
        ("reader.option", lambda io, folder: io.StreamReader(media(folder), option={"foo": "1", "bar": "2"})),
        ("reader.no_file", lambda io, folder: io.StreamReader("foobar")),
        ("reader.packets", packets),
        ("reader.without_chunks", without_chunks),
        ("reader.exhausted", exhausted),
        ("reader.raw", raw),
        ("reader.chunk", chunk_is_a_tensor),
        ("reader.unchunked_times", unchunked_times),
        ("reader.dropped_chunks_pts", partial(popped, frames=30, waiting=3)),
    ]
    for kind in ("path", "file"):
        options = {"frame_rate": 60, "width": 256, "height": 198}
        cases.append(
            (f"reader.iterated[{kind}]", partial(iterated, kind=kind, audio=2000, video=15, count=20, **options))
        )
        for name, mode, time in (
            ("six.mp4", "key", 0.2), ("six.mp4", "key", 8.04), ("six.mp4", "key", 8.08), ("six.mp4", "key", 8.12),
            ("mpeg4.avi", "key", 0.2), ("mpeg4.avi", "key", 1.01), ("mpeg4.avi", "key", 7.37),
            ("mpeg4.avi", "key", 7.7),
            ("six.mp4", "precise", 0.0), ("six.mp4", "precise", 0.2), ("six.mp4", "precise", 8.04),
            ("six.mp4", "precise", 8.08), ("six.mp4", "precise", 8.12), ("mpeg4.avi", "precise", 0.0),
            ("mpeg4.avi", "precise", 0.2), ("mpeg4.avi", "precise", 8.1), ("mpeg4.avi", "precise", 8.17),
            ("mpeg4.avi", "any", 0.0), ("mpeg4.avi", "any", 0.56), ("mpeg4.avi", "any", 7.77),
            ("mpeg4.avi", "any", 0.2002), ("mpeg4.avi", "any", 0.266933), ("no_times.h264", "precise", 0.0),
        ):  # fmt: skip
            cases.append(
                (
                    f"reader.seek[{kind}-{name}-{mode}-{time}]",
                    partial(sought, kind=kind, name=name, mode=mode, time=time),
                )
            )
    for name in ("mpeg4.avi", "s16le_2.wav"):
        cases.append((f"reader.seek_often[{name}]", partial(sought_often, name=name)))
    for frames in (1, 3, 10, -1):
        cases.append((f"reader.frames_per_chunk[{frames}]", partial(popped, frames=frames, waiting=-1)))
        cases.append((f"reader.times[{frames}]", partial(times, frames=frames, name="no_audio.mp4")))
    for frames in (256, 512, 1024, 4086, -1):
        cases.append(
            (f"reader.audio_chunks[{frames}]", partial(popped, frames=frames, waiting=-1, name="no_video.mp4"))
        )
        cases.append((f"reader.audio_times[{frames}]", partial(times, frames=frames, name="no_video.mp4")))
    for pixel_format in (
        "rgb24", "bgr24", "gray8", "yuv444p", "yuv420p", "nv12", "argb", "rgba", "abgr", "bgra", "rgb48le", "p010le",
        "yuv420p10le", "gray", "rgb0", "yuv422p", None,
    ):  # fmt: skip
        cases.append((f"reader.format[{pixel_format}]", partial(converted, name="short.mp4", format=pixel_format)))
    for name in ("rgb.png", "gray.png"):
        cases.append((f"reader.picture[{name}]", partial(converted, name=name, format=None)))
    cases += [
        (f"reader.filter[{each}]", partial(filtered, name="rgb.png", filters=each)) for each in ("hflip", "vflip")
    ]
    cases.append(("reader.filter[areverse]", partial(filtered, name="s16le_2.wav", filters="areverse")))
    for name in ("no_audio.mp4", "no_times.h264"):
        cases.append((f"reader.frame_rate[{name}]", partial(converted, name=name, frame_rate=15)))
    for sample_format in ("u8", "u8p", "s16", "s16p", "s32", "s32p", "s64", "s64p", "flt", "fltp", "dbl", "dblp", None):
        for name in ("u8_1.wav", "s16le_2.wav", "s32le_4.wav"):
            cases.append((f"reader.samples[{name}-{sample_format}]", partial(sampled, name=name, format=sample_format)))
    cases.append(("reader.remixed", partial(sampled, name="no_video.mp4", sample_rate=44100, num_channels=1)))
    for pixel_format in ("yuv444p", "rgb24", "yuv420p"):
        expression = f"testsrc2=rate={RATE}:size=640x360:duration=2"
        cases.append((f"reader.lavfi[{pixel_format}]", partial(generated, expression=expression, format=pixel_format)))
    return cases
