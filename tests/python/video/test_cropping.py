# SPDX-License-Identifier: Apache-2.0
"""Pictures are cropped as H.264's frame cropping and HEVC's conformance window say, exactly, and by nothing else."""

from __future__ import annotations

import struct
from pathlib import Path

import cropped_clips
import media
import numpy as np
import pytest
import tricodec
from cropped_clips import HEIGHT, WIDTH, Kind


@pytest.mark.parametrize(("kind", "crop"), cropped_clips.CASES, ids=cropped_clips.case_id)
def test_every_frame_is_the_crop_of_the_whole_picture(
    kind: Kind, crop: tuple[int, int, int, int], tmp_path: Path
) -> None:
    left, right, top, bottom = crop
    with tricodec.FrameReader(cropped_clips.cropped(kind, crop, tmp_path), device="cpu") as reader:
        frames = list(reader)
        again = reader[4]

    expected = cropped_clips.cut(kind, crop)
    assert {(frame.width, frame.height) for frame in frames} == {(WIDTH - left - right, HEIGHT - top - bottom)}
    assert all(frame.pack() == wanted for frame, wanted in zip(frames, expected, strict=True))
    assert again.pack() == expected[4]


@pytest.mark.parametrize("suffix", [".mp4", ".ts"])
@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_containers_change_nothing(codec: str, suffix: str, tmp_path: Path) -> None:
    kind, crop = Kind(codec, "yuv420p"), (26, 14, 20, 12)
    with tricodec.FrameReader(cropped_clips.cropped(kind, crop, tmp_path, suffix), device="cpu") as reader:
        expected = cropped_clips.cut(kind, crop)
        assert all(frame.pack() == wanted for frame, wanted in zip(reader, expected, strict=True))
        assert (reader.stream.width, reader.stream.height) == (216, 192)


def test_a_cropped_picture_is_transformed_like_the_same_picture_cut_out(tmp_path: Path) -> None:
    """Its planes begin where no kernel would have put them."""
    kind, crop = Kind("h264", "yuv420p"), (26, 14, 20, 12)
    transform = tricodec.Transform(size=(48, 48), dtype="float32", layout="CHW")
    with tricodec.FrameReader(cropped_clips.cropped(kind, crop, tmp_path), device="cpu") as reader:
        batch = reader.batch(slice(None), transform)
        frames = list(reader)

    copies = [tricodec.Frame.from_planes([np.array(p) for p in f.planes], f.format, color=f.color) for f in frames]
    np.testing.assert_array_equal(batch, np.stack([transform(copy) for copy in copies]))


def states_size(data: bytes, width: int, height: int) -> bytes:
    """Changes the size in an MP4 file's sample entry (ISO/IEC 14496-12, 12.1.3)."""
    at = data.index(b"avc1", data.index(b"stsd")) + 4 + 24
    return data[:at] + struct.pack(">HH", width, height) + data[at + 4 :]


def test_h264_follows_a_container_that_cuts_off_less_than_a_macroblock(tmp_path: Path) -> None:
    """As libavcodec does in every version, at the right and the bottom."""
    source = media.generated("h264_bframes.mp4")
    path = tmp_path / "smaller.mp4"
    path.write_bytes(states_size(source.read_bytes(), 318, 178))
    with tricodec.FrameReader(source, device="cpu") as reader:
        expected = [[np.asarray(plane) for plane in frame.planes] for frame in reader]

    with tricodec.FrameReader(path, device="cpu") as reader:
        frames = list(reader)

    assert {(frame.width, frame.height) for frame in frames} == {(318, 178)}
    assert [frame.md5() for frame in frames] == media.ffmpeg_framemd5(path)
    for frame, (luma, *_) in zip(frames, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(frame.planes[0]), luma[:178, :318])
