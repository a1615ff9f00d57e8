# SPDX-License-Identifier: Apache-2.0
"""SimpleDecoder and ThreadedDecoder of the drop-in PyNvVideoCodec."""

from __future__ import annotations

import gc
import io
import threading
from pathlib import Path
from typing import Any

import media
import numpy as np
import PyNvVideoCodec as nvc
import pytest
from pynv_helpers.pixels import nv12_bytes

pytestmark = pytest.mark.filterwarnings("ignore:use_device_memory=True")


@pytest.fixture
def clip() -> Path:
    return media.generated("h264_bframes.mp4")


@pytest.fixture(scope="module")
def expected() -> list[bytes]:
    return [nv12_bytes(data, 320, 180) for data in media.ffmpeg_frames(media.generated("h264_bframes.mp4"))]


def bytes_of(frames: list[nvc.DecodedFrame]) -> list[bytes]:
    return [np.asarray(frame).tobytes() for frame in frames]


def simple(source: Any, **arguments: Any) -> nvc.SimpleDecoder:
    return nvc.SimpleDecoder(source, use_device_memory=False, **arguments)


def threaded(source: Any, buffer_size: int, **arguments: Any) -> nvc.ThreadedDecoder:
    return nvc.ThreadedDecoder(source, buffer_size, use_device_memory=False, **arguments)


def test_frames_come_by_number_slice_and_iteration(clip: Path, expected: list[bytes]) -> None:
    decoder = simple(clip)

    assert len(decoder) == 50
    assert bytes_of([decoder[0], decoder[49]]) == [expected[0], expected[49]]
    assert bytes_of(decoder[10:20:3]) == expected[10:20:3]
    assert bytes_of(decoder[-1:-4:-1]) == expected[-1:-4:-1]
    assert decoder[5:5] == []
    assert bytes_of(list(decoder)) == expected


def test_batches_go_on_from_the_cursor(clip: Path, expected: list[bytes]) -> None:
    decoder = simple(clip)

    assert bytes_of(decoder.get_batch_frames(3)) == expected[:3]
    decoder.seek_to_index(46)
    assert bytes_of(decoder.get_batch_frames(3)) == expected[46:49]
    assert bytes_of(decoder.get_batch_frames(3)) == expected[49:]
    assert decoder.get_batch_frames(3) == []
    with pytest.raises(IndexError):
        decoder.seek_to_index(50)


def test_times_become_numbers(clip: Path) -> None:
    decoder = simple(clip)

    assert [decoder.get_index_from_time_in_seconds(time) for time in (-1, 0, 0.04, 0.05, 0.06, 1.96)] == [
        0, 0, 1, 2, 2, 49,
    ]  # fmt: skip
    with pytest.raises(nvc.PyNvVCException, match="greater than the total duration"):
        decoder.get_index_from_time_in_seconds(60)


def test_metadata_describe_the_stream(clip: Path) -> None:
    decoder = simple(clip, need_scanned_stream_metadata=1)
    facts, scanned = decoder.get_stream_metadata(), decoder.get_scanned_stream_metadata()

    assert (facts.width, facts.height, facts.num_frames, facts.average_fps) == (320, 180, 50, 25)
    assert (facts.codec_name, facts.duration) == ("h264", 2.0)
    assert 0.5 < facts.bitrate * facts.duration / 8 / clip.stat().st_size < 1.1
    assert repr(facts).startswith("<StreamMetadata [\nwidth= 320\nheight= 180\nnum_frames= 50\naverage_fps= 25\n")
    assert (len(scanned.pts), len(scanned.packet_size), scanned.key_frame_indices[0]) == (50, 50, 0)
    assert scanned.pts == sorted(scanned.pts)
    with pytest.raises(RuntimeError, match="need_scanned_stream_metadata"):
        simple(clip).get_scanned_stream_metadata()


@pytest.mark.parametrize("wrap", [bytes, bytearray, io.BytesIO], ids=["bytes", "bytearray", "stream"])
def test_sources_may_be_in_memory(clip: Path, expected: list[bytes], wrap: Any) -> None:
    assert bytes_of([simple(wrap(clip.read_bytes()))[7]]) == [expected[7]]


def test_another_video_takes_the_place(clip: Path, expected: list[bytes]) -> None:
    decoder = simple(clip)
    held = decoder[3]
    decoder.reconfigure_decoder(media.generated("hevc.mp4"))

    assert decoder.get_stream_metadata().codec_name == "hevc"
    assert len(decoder.get_batch_frames(2)) == 2
    assert bytes_of([held]) == [expected[3]]


def test_a_thread_decodes_ahead_in_order(clip: Path, expected: list[bytes]) -> None:
    decoder = threaded(clip, 8)
    sizes = []
    found: list[bytes] = []
    for _ in range(9):
        batch = decoder.get_batch_frames(8)
        sizes.append(len(batch))
        found += bytes_of(batch)

    assert sizes == [8, 8, 8, 8, 8, 8, 2, 0, 0]
    assert found == expected


def test_a_threaded_decoder_ends_when_it_is_told_or_dropped(clip: Path) -> None:
    def running() -> int:
        return sum(thread.name == "ThreadedDecoder" for thread in threading.enumerate())

    before = running()
    decoder = threaded(clip, 2)
    decoder.end()
    assert decoder.get_batch_frames(2) == []
    dropped = threaded(clip, 2)
    del dropped
    gc.collect()
    assert running() == before


def test_a_threaded_decoder_starts_where_it_is_told_and_changes_over(clip: Path, expected: list[bytes]) -> None:
    decoder = threaded(clip, 4, start_frame=47)

    assert bytes_of(decoder.get_batch_frames(4)) == expected[47:]
    decoder.reconfigure_decoder(clip, start_frame=10)
    assert bytes_of(decoder.get_batch_frames(2)) == expected[10:12]
    assert threaded(clip, 4, start_frame=500).get_batch_frames(2) == []
    assert len(decoder) == 50
