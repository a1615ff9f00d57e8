# SPDX-License-Identifier: Apache-2.0
"""fn.tricodec.encode_video makes the files of Python, and other decoders read them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from bitstreams import psnr
from dali_testing import constant_source, operator_pipeline, read
from media import ffmpeg_frames, generated
from programs import printed_by

pytestmark = pytest.mark.needs_dali

FAST: dict[str, Any] = {"preset": "ultrafast", "crf": 20.0}


def encode(batch: list[np.ndarray], **arguments: Any) -> list[bytes]:
    """One batch through a pipeline of its own."""
    (files,) = operator_pipeline("encode_video", batch, **arguments).run()
    return [bytes(files.at(i)) for i in range(len(batch))]


def clip(count: int = 8, name: str = "h264_bframes.mp4", **options: Any) -> np.ndarray:
    return tricodec.decode_video(generated(name), count=count, **options).frames


def by_encoder_and_muxer(frames: np.ndarray, container: str, format: str = "", **options: Any) -> bytes:
    """What the classes make, one frame at a time."""
    height, width = frames.shape[1:3]
    with tricodec.Muxer(None, format=container) as muxer:
        encoder = tricodec.Encoder(
            width, height, num_threads=1, global_header=muxer.wants_global_headers, device="cpu", **options
        )
        stream = muxer.add_stream(encoder.stream)
        for frame in frames:
            for packet in encoder.encode(frame, format=format):
                muxer.write(packet, stream)
        for packet in encoder.flush():
            muxer.write(packet, stream)
    return muxer.getvalue()


LAYOUTS = [("rgb", "HWC", 3), ("bgr", "CHW", 3), ("gray", "HWC", 1), ("yuv", "HWC", 3)]


@pytest.mark.parametrize(("color", "layout", "channels"), LAYOUTS)
def test_encode_video_takes_every_layout_that_decode_video_gives(color: str, layout: str, channels: int) -> None:
    frames = clip(3, color=color, layout=layout)

    (file,) = encode([frames], color=color, layout=layout, **FAST)

    # The same pictures as the encoder takes them: one by one, channels last.
    plain = clip(3, color=color, layout="HWC")
    assert plain.shape[3] == channels
    if color == "yuv":
        decoded = tricodec.decode_video(file, color="yuv").frames
        assert psnr(decoded[..., 0], plain[..., 0]) > 35
        assert file == encode([clip(3, color="yuv", layout="CHW")], color="yuv", layout="CHW", **FAST)[0]
        return
    options = {"options": {"preset": "ultrafast", "crf": 20}}
    expected = plain[..., 0] if color == "gray" else plain
    format = {"rgb": "rgb24", "bgr": "bgr24", "gray": "gray"}[color]
    assert file == by_encoder_and_muxer(expected, "mp4", format, **options)


@pytest.mark.parametrize(
    ("name", "format", "codec", "pixel_format"),
    [
        ("h264_bframes.mp4", "nv12", "h264", "nv12"),
        ("hevc10.mkv", "p010le", "hevc", "yuv420p10le"),
        ("h264_444.mp4", "yuv444p", "h264", "yuv444p"),
    ],
)
def test_raw_planes_of_decode_video_are_encoded_without_loss_of_depth_or_chroma(
    name: str, format: str, codec: str, pixel_format: str, tmp_path: Path
) -> None:
    from nvidia.dali import Pipeline, fn

    pipe = Pipeline(batch_size=1, num_threads=2, device_id=None)
    with pipe:
        encoded = fn.external_source(source=constant_source([read(generated(name))]), batch=True)
        planes, pts = fn.tricodec.decode_video(encoded, count=4, format=format)
        lossless = ["x265-params=lossless=1"] if codec == "hevc" else ["qp=0"]
        files = fn.tricodec.encode_video(
            planes, pts, format=format, codec=codec, container="mkv", preset="ultrafast", options=lossless
        )
        pipe.set_outputs(files)
    pipe.build()
    (files,) = pipe.run()

    path = tmp_path / "made.mkv"
    path.write_bytes(bytes(files.at(0)))
    planar = {"nv12": "yuv420p"}.get(pixel_format, pixel_format)
    assert ffmpeg_frames(path, planar) == ffmpeg_frames(generated(name), planar)[:4]


def test_encode_video_follows_decode_and_transform_in_one_pipeline() -> None:
    from nvidia.dali import Pipeline, fn

    names = ["h264_bframes.mp4", "vp9.webm"]
    pipe = Pipeline(batch_size=2, num_threads=2, device_id=None)
    with pipe:
        encoded = fn.external_source(source=constant_source([read(generated(name)) for name in names]), batch=True)
        planes, pts = fn.tricodec.decode_video(encoded, count=5, format="nv12")
        small = fn.tricodec.transform(planes, format="nv12", size=(48, 64), layout="CHW")
        pipe.set_outputs(fn.tricodec.encode_video(small, pts, **FAST))
    pipe.build()

    (files,) = pipe.run()

    for i, name in enumerate(names):
        video = tricodec.decode_video(generated(name), count=5, size=(48, 64))
        expected = tricodec.encode_video(video.frames, video.pts_seconds, device="cpu", **FAST)
        assert bytes(files.at(i)) == expected


def test_encode_video_works_in_dynamic_mode() -> None:
    import nvidia.dali.experimental.dynamic as ndd

    file = ndd.tricodec.encode_video(clip(4), preset="ultrafast", crf=20.0)

    assert bytes(np.array(file.cpu())) == tricodec.encode_video(clip(4), device="cpu", **FAST)


@pytest.mark.parametrize(
    ("frames", "arguments", "kind", "text"),
    [
        (np.zeros((0, 16, 16, 3), np.uint8), {}, ValueError, r"Sample 1 of the batch of 2: there are 0 pictures"),
        (np.zeros((2, 16, 16, 3), np.uint8), {"rotation": 45}, ValueError, "rotation is 45; it must be 0, 90"),
        (np.zeros((2, 16, 16, 3), np.uint8), {"container": "webm"}, RuntimeError, "'webm' cannot contain h264"),
        (np.zeros((2, 3, 16, 16), np.uint8), {}, ValueError, r"'HWC' cannot be uint8 \[1, 3, 16, 16\].*\[H, W, 3\]"),
        (np.zeros((2, 16, 16, 3), np.float32), {}, TypeError, "undo a normalization"),
    ],
)
def test_what_cannot_be_encoded_is_named_with_its_sample(frames: Any, arguments: Any, kind: Any, text: str) -> None:
    first = np.zeros((1, *frames.shape[1:]), frames.dtype)

    with pytest.raises(kind, match=text) as caught:
        encode([first, frames], **arguments)

    assert kind is TypeError or re.search(r"Sample [01] of the batch of 2", str(caught.value))


def test_encoders_of_a_batch_use_no_more_threads_than_they_are_given() -> None:
    """Counted in a process of its own while four encoders are at work on two threads of DALI's."""
    output = printed_by("""
import glob, threading, time
import numpy as np, tricodec.dali
from nvidia.dali import Pipeline, fn

frames = np.random.default_rng(0).integers(0, 255, (8, 120, 160, 3), np.uint8)
pipe = Pipeline(batch_size=4, num_threads=2, device_id=None)
with pipe:
    batch = fn.external_source(source=lambda: [frames] * 4, batch=True)
    pipe.set_outputs(fn.tricodec.encode_video(batch, preset="slow"))
pipe.build()
before, most, done = len(glob.glob("/proc/self/task/*")), [0], threading.Event()

def watch():
    while not done.is_set():
        most[0] = max(most[0], len(glob.glob("/proc/self/task/*")))
        time.sleep(0.002)

watcher = threading.Thread(target=watch)
watcher.start()
pipe.run()
done.set()
watcher.join()
print(most[0] - before - 1)
""")

    # libx264 keeps one thread beside the caller's for its lookahead.
    assert int(output) <= 2 * 2 + 2
