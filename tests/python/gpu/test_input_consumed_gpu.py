# SPDX-License-Identifier: Apache-2.0
"""`input_consumed`: memory of the caller is filled again after the event, while the work behind it continues."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tricodec
from gpu_helpers import busy

pytestmark = pytest.mark.needs_torch


def planes(height: int = 180, width: int = 320) -> list[Any]:
    """Those of an NV12 picture, random."""
    import torch

    def random(*shape: int) -> Any:
        return torch.randint(0, 256, shape, dtype=torch.uint8, device="cuda")

    made = [random(height, width), random(height // 2, width // 2, 2)]
    torch.cuda.synchronize()
    return made


def fill_after(event: Any, tensors: list[Any]) -> Any:
    """Overwrites the tensors on a new stream that waits for the event; the stream."""
    import torch

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        stream.wait_event(event)
        for tensor in tensors:
            tensor.fill_(0)
    return stream


@pytest.mark.alone
@pytest.mark.parametrize("num_frames", [1, 3])
def test_a_transforms_input_is_filled_again_while_its_stream_works_on(num_frames: int) -> None:
    import torch

    pictures = [planes() for _ in range(num_frames)]
    frames = [tricodec.Frame.from_planes(picture, "nv12") for picture in pictures]
    transform = tricodec.Transform(size=(90, 160), dtype="float32", layout="CHW")
    wanted = transform([frame.cpu() for frame in frames])
    side, event = torch.cuda.Stream(), torch.cuda.Event()
    out = torch.zeros(wanted.shape, dtype=torch.float32, device="cuda")
    transform(frames, out, stream=side)  # loads the kernels
    fill_after(event, [torch.zeros(8, dtype=torch.uint8, device="cuda")])
    busy(side, 20)
    out.fill_(0)
    torch.cuda.synchronize()

    busy(side, 600)
    transform(frames, out, stream=side, input_consumed=event)
    not_read_yet = not event.query()
    busy(side, 600)
    filled = fill_after(event, [plane for picture in pictures for plane in picture])
    filled.synchronize()
    side_still_works = not side.query()
    torch.cuda.synchronize()

    assert not_read_yet, "the event was recorded before the frames were read"
    assert side_still_works, "the event waited for more than the work that reads the frames"
    np.testing.assert_array_equal(out.cpu().numpy(), wanted)
    assert not any(plane.any() for picture in pictures for plane in picture)


def test_an_encoders_picture_is_filled_again_before_the_stream_is_flushed() -> None:
    import torch

    words: dict[str, Any] = {"codec": "libx264", "device": "cpu", "num_threads": 1}
    pictures = [planes()[0][:, :, None].expand(180, 320, 3).contiguous() for _ in range(4)]
    wanted = [bytes(packet.data) for packet in _encoded(pictures, words, None)]
    event = torch.cuda.Event()

    got = [bytes(packet.data) for packet in _encoded(pictures, words, event)]

    assert got == wanted
    assert not any(picture.any() for picture in pictures)


def _encoded(pictures: list[Any], words: dict[str, Any], event: Any) -> list[Any]:
    """All packets; with an event each picture is overwritten as soon as it may be."""
    encoder = tricodec.Encoder(320, 180, **words)
    packets = []
    for picture in pictures:
        packets += encoder.encode(picture, format="rgb24", input_consumed=event)
        if event is not None:
            fill_after(event, [picture]).synchronize()
    return [*packets, *encoder.flush()]
