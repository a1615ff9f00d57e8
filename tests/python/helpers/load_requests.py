# SPDX-License-Identifier: Apache-2.0
"""Good and hostile requests to a Triton server, each with its answer: bytes of the Python front end, or an error."""

from __future__ import annotations

import dataclasses
import functools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import tricodec
from media import generated
from triton_testing import NO_MEDIA

CLIP = "h264_bframes.mp4"
_OTHERS = ("hevc.mp4", "vp9.webm", "truncated.mkv")


class WrongAnswerError(Exception):
    """An answer that is not that of the Python front end."""


@dataclasses.dataclass(frozen=True)
class Request:
    """A request that checks its answer.

    Attributes:
        name: what it is, for counts.
        weight: how often it comes, relative to the others.
        send: sends it by a client and returns the bytes of its answer.
        expected: the answer; None for a request that is refused.
        refusal: the exception that a hostile request gets; None for a good one.
    """

    name: str
    weight: int
    send: Callable[[Any], bytes]
    expected: bytes | None = None
    refusal: type[Exception] | None = None

    def run(self, client: Any) -> None:
        """Sends it and checks what comes.

        Raises:
            WrongAnswerError: another answer, or none of the expected refusal.
            Exception: an error that is not the expected refusal.
        """
        try:
            answer = self.send(client)
        except Exception as error:
            if self.refusal is None or not isinstance(error, self.refusal):
                raise
            return
        if self.refusal is not None:
            raise WrongAnswerError(f"{self.name} was answered; expected {self.refusal.__name__}")
        if answer != self.expected:
            raise WrongAnswerError(f"{self.name}: {len(answer)} bytes that differ from {len(self.expected or b'')}")


def _frames(video: tricodec.DecodedVideo) -> bytes:
    return video.frames.tobytes() + video.pts_seconds.tobytes()


def _decode(client: Any, source: bytes, **options: Any) -> bytes:
    return _frames(client.decode_video(source, **options))


def _stream(client: Any, source: bytes, chunk: int, **options: Any) -> bytes:
    parts = list(client.stream_video(source, chunk, window=2, **options))
    frames = np.concatenate([part.frames for part in parts])
    return frames.tobytes() + np.concatenate([part.pts_seconds for part in parts]).tobytes()


def _decoding(name: str, weight: int, source: bytes, **options: Any) -> Request:
    expected = _frames(tricodec.decode_video(source, **options))
    return Request(name, weight, functools.partial(_decode, source=source, **options), expected)


def good_requests() -> list[Request]:
    """Requests that every server answers, small and large, by each transport of the client."""
    clip = generated(CLIP).read_bytes()
    options: dict[str, Any] = {"size": (24, 32), "count": 40}
    streamed = functools.partial(_stream, source=clip, chunk=7, **options)
    rng = np.random.default_rng(7)
    array = rng.integers(0, 8, 600_000, dtype=np.uint8)
    packed = bytes(tricodec.Codec(algorithm="LZ4", device="cpu").encode(array))
    return [
        _decoding("decode", 4, clip, size=(24, 32), count=6),
        _decoding("decode by shared memory", 3, clip, size=(240, 320), count=20),
        _decoding("decode float", 2, clip, start=10, stride=3, count=5, dtype="float32", layout="CHW", size=(32, 32)),
        *(_decoding(f"decode {name}", 1, generated(name).read_bytes(), size=(24, 32)) for name in _OTHERS),
        Request("stream", 2, streamed, _frames(tricodec.decode_video(clip, **options))),
        Request("compress", 1, lambda client: client.compress(array, algorithm="LZ4").tobytes(), packed),
        Request("decompress", 2, lambda client: client.decompress(packed).tobytes(), array.tobytes()),
    ]


def hostile_requests() -> list[Request]:
    """Requests that every server refuses, each with the exception of its own."""
    clip = generated(CLIP).read_bytes()
    damaged = bytearray(tricodec.Codec(algorithm="LZ4", device="cpu").encode(np.arange(50_000, dtype=np.uint8)))
    damaged[len(damaged) // 2 :] = random.Random(3).randbytes(len(damaged) - len(damaged) // 2)

    def refused(name: str, kind: type[Exception], weight: int = 1, *, data: bytes = clip, **options: Any) -> Request:
        return Request(name, weight, functools.partial(_decode, source=data, **options), refusal=kind)

    return [
        *(refused(name, kind, data=data) for name, (data, kind) in NO_MEDIA.items()),
        refused("a frame that is not there", IndexError, start=10_000),
        refused("an unknown word", ValueError, resize="no such filter"),
        refused("a size past the limits", tricodec.RefusedError, size=(20_000, 20_000)),
        Request(
            "stream of no media", 1, functools.partial(_stream, source=b"no media", chunk=4),
            refusal=tricodec.CorruptDataError,
        ),
        Request(
            "damaged compressed bytes", 1, lambda client: client.decompress(bytes(damaged)).tobytes(),
            refusal=tricodec.CorruptDataError,
        ),
    ]  # fmt: skip
