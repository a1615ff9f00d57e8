# SPDX-License-Identifier: Apache-2.0
"""Packets of a stream as the input of fn.tricodec.decode_video: the frames are those of the file they come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
import tricodec
from dali_testing import Decoded, collect, constant_source
from media import generated

pytestmark = pytest.mark.needs_dali

CLIPS = {
    "h264_bframes.mp4": "h264", "h264_open_gop.mkv": "h264", "hevc.mp4": "hevc", "hevc10.mkv": "hevc",
    "vp8.webm": "vp8", "vp9.webm": "vp9", "av1.mp4": "av1",
    "mpeg4.avi": "mpeg4", "mpeg2.ts": "mpeg2video", "mjpeg.avi": "mjpeg",
}  # fmt: skip


def packets_of(clip: Path) -> tuple[list[bytes], list[float]]:
    """The packets and times that PyAV reads, H.264 and HEVC as Annex B."""
    with av.open(str(clip)) as container:
        stream = container.streams.video[0]
        name = {"h264": "h264_mp4toannexb", "hevc": "hevc_mp4toannexb"}.get(stream.codec_context.name, "null")
        rewrite = av.bitstream.BitStreamFilterContext(name, stream)
        rewritten = [each for packet in container.demux(stream) if packet.size for each in rewrite.filter(packet)]
        headers = stream.codec_context.extradata if stream.codec_context.name == "mpeg4" else None
        packets = [bytes(packet) for packet in rewritten]
        if headers and not packets[0].startswith(headers):
            packets[0] = headers + packets[0]
        return packets, [
            float("nan") if packet.pts is None else float(packet.pts * packet.time_base) for packet in rewritten
        ]


def decode_packets(
    samples: list[tuple[list[bytes], list[float] | None]] | list[tuple[list[bytes], list[float]]],
    codec: str,
    **words: Any,
) -> list[Decoded]:
    """One batch through a pipeline of its own."""
    import tricodec.dali  # noqa: F401  (registers the operators)
    from nvidia.dali import Pipeline, fn

    def source(arrays: list[np.ndarray]) -> Any:
        return fn.external_source(source=constant_source(arrays), batch=True)

    pipe = Pipeline(batch_size=len(samples), num_threads=2, device_id=None)
    with pipe:
        data = source([np.frombuffer(b"".join(packets), np.uint8).copy() for packets, _ in samples])
        sizes = source([np.array([len(packet) for packet in packets]) for packets, _ in samples])
        words = {"packet_sizes": sizes} | words
        if samples[0][1] is not None:
            words["packet_pts"] = source([np.array(times) for _, times in samples])
        pipe.set_outputs(*fn.tricodec.decode_video(data, codec=codec, **words))
    pipe.build()
    return collect(pipe.run())


@pytest.mark.parametrize("clip", CLIPS)
def test_decode_video_decodes_packets_to_the_frames_of_their_file(clip: str) -> None:
    packets, times = packets_of(generated(clip))
    expected = tricodec.decode_video(generated(clip), device="cpu")
    known = not np.isnan(times).all()  # AVI has no times

    (decoded,) = decode_packets([(packets, times if known else None)], CLIPS[clip])

    assert decoded.frames.shape == expected.frames.shape
    assert decoded.frames.tobytes() == expected.frames.tobytes()
    if known:
        np.testing.assert_allclose(decoded.pts, expected.pts_seconds, atol=1e-9)


def test_decode_video_takes_packets_of_several_streams_and_every_other_argument() -> None:
    samples = [packets_of(generated(clip)) for clip in ("h264_bframes.mp4", "h264_open_gop.mkv")]

    decoded = decode_packets(samples, "h264", start=5, stride=3, count=4, size=(40, 60), layout="CHW")

    for sample, clip in zip(decoded, ("h264_bframes.mp4", "h264_open_gop.mkv"), strict=True):
        expected = tricodec.decode_video(
            generated(clip), device="cpu", start=5, stride=3, count=4, size=(40, 60), layout="CHW"
        )
        assert sample.frames.tobytes() == expected.frames.tobytes()


REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "codec": ({"codec": "theora"}, ValueError, "theora"),
    "needs_a_container": ({"codec": "vc1"}, RuntimeError, "packets of vc1 need a container; accepted are h264"),
    "sizes": ({"sizes": [10, 10**9]}, ValueError, "packet 1 has 1000000000 bytes by packet_sizes, and the input has"),
    "short": ({"sizes": [10]}, ValueError, "packet_sizes add up to 10 bytes, and the input has"),
    "times": ({"times": [0.0]}, ValueError, "packet_pts has 1 times, and packet_sizes 50 sizes"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_packets_that_do_not_fit_are_an_error(case: str) -> None:
    words, error, message = REFUSED[case]
    packets, _ = packets_of(generated("h264_bframes.mp4"))
    sizes = words.get("sizes", [len(packet) for packet in packets])
    samples = [(packets, words.get("times"))]

    with pytest.raises(error, match=message):
        decode_packets(samples, words.get("codec", "h264"), packet_sizes=[int(size) for size in sizes])
