# SPDX-License-Identifier: Apache-2.0
"""Streams without prediction: each function writes one, with the frames that it must show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import h264_writer
import hevc_writer
import numpy as np
from h264_writer import H264Stream
from hevc_writer import BLA, CRA, IDR, RASL_R, TRAIL_R, HevcStream
from pcm_stream import PcmStream, Planes

_TOP_DOWN = [range(7), range(7, 20), range(20, 36)]


def h264(slices: Sequence[range] = (), count: int = 4, **parameters: Any) -> PcmStream:
    """Frames with whatever the parameters say."""
    stream = H264Stream(**parameters)
    for number in range(count):
        how = h264_writer.Picture(frame_num=number, poc=2 * number, idr=number == 0, slices=slices)
        stream.write(stream.shows(stream.noise()), how)
    return stream


def h264_slices() -> PcmStream:
    return h264(_TOP_DOWN)


def h264_fields() -> PcmStream:
    """A frame, then fields of which the top comes first, then fields of which the bottom does, and so on."""
    stream = H264Stream(interlaced=True)
    for number in range(9):
        planes = stream.shows(stream.noise())
        fields = [("",), ("top", "bottom"), ("bottom", "top")][number % 3]
        for place, field in enumerate(fields):
            how = h264_writer.Picture(frame_num=number, poc=2 * number + place, idr=number == 0, field=field)
            stream.write(planes, how)
    return stream


def h264_field_of_field() -> PcmStream:
    """The second field repeats the first. Its chroma moves by a quarter line, as the parities differ (8.4.1.4)."""
    stream = H264Stream(interlaced=True)
    planes = stream.noise()
    stream.write(planes, h264_writer.Picture(idr=True, field="top"))
    stream.skip(h264_writer.Picture(poc=1, field="bottom"))
    planes[0][1::2] = planes[0][::2]
    for plane in planes[1:]:
        below = np.concatenate([plane[2::2], plane[-2:-1]])
        plane[1::2] = (6 * plane[::2] + 2 * below + 4) >> 3
    stream.shows(planes)
    return stream


def h264_long_term() -> PcmStream:
    """The first picture comes again from the long-term pictures, others from the short-term ones."""
    stream = H264Stream(num_ref_frames=3)
    kept = last = stream.shows(stream.noise())
    stream.write(kept, h264_writer.Picture(idr=True, long_term=0))
    for number in range(1, 10):
        how = h264_writer.Picture(frame_num=number, poc=2 * number, shows_long_term=0 if number % 3 == 0 else None)
        if number % 3 == 1:
            last = stream.noise()
            stream.write(last, how)
        else:
            last = kept if number % 3 == 0 else last
            stream.skip(how)
        stream.shows(last)
    return stream


def h264_gaps() -> PcmStream:
    stream = H264Stream(gaps=True)
    for number in (0, 1, 4, 5, 9):
        how = h264_writer.Picture(frame_num=number, poc=2 * number, idr=number == 0)
        stream.write(stream.shows(stream.noise()), how)
    return stream


def h264_reordered() -> PcmStream:
    """Pictures that nothing refers to are shown before the one that precedes them in the stream."""
    stream = H264Stream(reorder=1)
    frame_num = 0
    for number in (0, 2, 1, 4, 3, 6, 5, 8, 7):
        kept = number % 2 == 0
        how = h264_writer.Picture(frame_num=frame_num, poc=2 * number, idr=number == 0, reference=kept)
        stream.write(stream.shows(stream.noise(), number), how)
        frame_num += kept
    return stream


def h264_redundant() -> PcmStream:
    """Redundant pictures hold other samples; where the primary ones are whole they are not shown."""
    stream = H264Stream(profile=66, redundant=True)
    for number in range(4):
        how = h264_writer.Picture(frame_num=number, poc=2 * number, idr=number == 0)
        stream.write(stream.shows(stream.noise()), how)
        if number:
            stream.write(stream.noise(), h264_writer.Picture(frame_num=number, poc=2 * number, redundant=1))
    return stream


def sizes(kind: type[H264Stream | HevcStream]) -> PcmStream:
    """The size of the pictures changes twice."""
    whole = PcmStream()
    for width, height in ((160, 192), (192, 160), (256, 160)):
        part = h264(width=width, height=height) if kind is H264Stream else hevc(width=width, height=height)
        whole.data += part.data
        whole.expected += part.expected
    return whole


def hevc(segments: Sequence[int] = (), count: int = 4, **parameters: Any) -> PcmStream:
    """Frames with whatever the parameters say."""
    stream = HevcStream(**parameters)
    for number in range(count):
        before = (number - 1,) if number else ()
        kind = TRAIL_R if number else IDR
        stream.write(hevc_writer.Picture(number, kind, before, segments=segments), stream.shows(stream.noise()))
    return stream


def hevc_skipped(segments: Sequence[int], **parameters: Any) -> PcmStream:
    """Pictures that repeat the first one, in several slices, with tiles or wavefronts as the parameters say."""
    stream = HevcStream(**parameters)
    planes = stream.shows(stream.noise())
    stream.write(hevc_writer.Picture(0, IDR), planes)
    for number in range(1, 4):
        stream.write(hevc_writer.Picture(number, before=(number - 1,), segments=segments))
        stream.shows(planes)
    return stream


def hevc_long_term() -> PcmStream:
    stream = HevcStream()
    kept = last = stream.shows(stream.noise())
    stream.write(hevc_writer.Picture(0, IDR), kept)
    for number in range(1, 10):
        before = (number - 1,) if number % 3 == 2 else ()
        planes: Planes | None = stream.noise() if number % 3 == 1 else None
        last = planes or (kept if number % 3 == 0 else last)
        stream.write(hevc_writer.Picture(number, before=before, long_term=0), planes)
        stream.shows(last)
    return stream


def hevc_hidden() -> PcmStream:
    stream = HevcStream()
    for number in range(8):
        planes, hidden = stream.noise(), number % 2 == 1
        before = (number - 1,) if number else ()
        stream.write(hevc_writer.Picture(number, TRAIL_R if number else IDR, before, hidden=hidden), planes)
        if not hidden:
            stream.shows(planes)
    return stream


def hevc_leading() -> PcmStream:
    """Leading pictures are shown after a CRA picture in mid-stream, and not after a BLA picture."""
    stream = HevcStream(reorder=1)
    for first, kind in ((0, CRA), (4, CRA), (8, BLA)):
        planes = stream.noise()
        stream.write(hevc_writer.Picture(first, kind), planes)
        if first:
            leading = stream.noise()
            stream.write(hevc_writer.Picture(first - 1, RASL_R), leading)
            if kind == CRA:
                stream.shows(leading)
        stream.shows(planes)
        for number in (first + 1, first + 2):
            stream.write(hevc_writer.Picture(number, before=(number - 1,)), stream.shows(stream.noise()))
    return stream
