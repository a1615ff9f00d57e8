# SPDX-License-Identifier: Apache-2.0
"""Rare but valid streams on NVDEC, over stand-ins for the driver: what is shown, which picture, what is key."""

from __future__ import annotations

from pathlib import Path

import cropped_clips
import media
import media_recipes
import pytest
from cropped_clips import HEIGHT, WIDTH, Kind
from gpu_helpers import build_fake_decoder, build_fake_driver, printed_with_driver

pytestmark = pytest.mark.needs_nvdec

_PRELUDE = """
import numpy as np
import tricodec
def decoded(path, device="cuda"):
    with tricodec.Demuxer(path) as demuxer:
        decoder = tricodec.Decoder(demuxer.stream, device=device)
        frames = [frame for packet in demuxer for frame in decoder.decode(packet)] + decoder.flush()
    assert not decoder.issues, decoder.issues
    return frames
def planes(frame):
    return [np.asarray(plane) for plane in frame.cpu().planes]
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_fake_decoder(build_fake_driver(tmp_path_factory.mktemp("driver")))


def run(driver: Path, code: str, **environment: str) -> None:
    printed_with_driver(driver, _PRELUDE + code, **environment)


OF_8_BITS = [(kind, crop) for kind, crop in cropped_clips.CASES if kind.pix_fmt == "yuv420p"]


@pytest.mark.parametrize(("kind", "crop"), OF_8_BITS, ids=cropped_clips.case_id)
def test_the_parameter_sets_say_what_is_shown_not_the_drivers_display_area(
    driver: Path, kind: Kind, crop: tuple[int, int, int, int], tmp_path: Path
) -> None:
    """NVDEC's parser of H.264 leaves out what is cut off at the left and at the top."""
    left, right, top, bottom = crop
    width, height = WIDTH - left - right, HEIGHT - top - bottom
    code = f"""
for frame in decoded({str(cropped_clips.cropped(kind, crop, tmp_path))!r}):
    assert (frame.width, frame.height) == ({width}, {height}), (frame.width, frame.height)
    luma, chroma = planes(frame)
    y, x = np.mgrid[:{height}, :{width}]
    np.testing.assert_array_equal(luma, (x + {left} + y + {top}) % 256)
    y, x = np.mgrid[:{height // 2}, :{width // 2}]
    np.testing.assert_array_equal(chroma, np.stack([x + {left // 2}, y + {top // 2}], axis=-1))
"""
    display = {"FAKE_CUVID_RIGHT": str(WIDTH - right), "FAKE_CUVID_BOTTOM": str(HEIGHT - bottom)}
    coded = {"FAKE_CUVID_WIDTH": str(WIDTH), "FAKE_CUVID_HEIGHT": str(HEIGHT)}
    run(driver, code, FAKE_CUVID_GRADIENT="1", **display, **coded)


def shown_pictures(packets: list[bytes]) -> list[int]:
    """The number, in decoding order, of the picture that each frame shows."""
    slots = [-1] * 8
    shown, count = [], 0
    for frame in (frame for packet in packets for frame in media_recipes.split_vp9(packet)):
        bits = "".join(f"{byte:08b}" for byte in frame[:4])
        assert bits[:4] == "1000"
        if bits[4] == "1":
            shown.append(slots[int(bits[5:8], 2)])
            continue
        is_key, is_shown, is_resilient = bits[5] == "0", bits[6] == "1", bits[7] == "1"
        at = 8 + (not is_shown) + (0 if is_resilient else 2)
        refreshed = 0xFF if is_key else int(bits[at : at + 8], 2)
        slots = [count if refreshed >> slot & 1 else held for slot, held in enumerate(slots)]
        if is_shown:
            shown.append(count)
        count += 1
    return shown


def test_vp9_shows_again_what_its_slots_hold(driver: Path) -> None:
    path = media.generated("vp9_shown_again.ivf")
    expected = shown_pictures(media_recipes.ivf_packets(path.read_bytes()))
    assert len(set(expected)) < len(expected)
    code = f"""
path, expected = {str(path)!r}, {expected}
frames = decoded(path)
assert [int(planes(frame)[0][0, 0]) for frame in frames] == expected
on_cpu = decoded(path, "cpu")
assert [(f.pts, f.duration, f.key, f.picture_type) for f in frames] == [
    (f.pts, f.duration, f.key, f.picture_type) for f in on_cpu
]
reader = tricodec.FrameReader(path, device="cuda")
assert [(frame.index, frame.pts) for frame in reader] == [(i, f.pts) for i, f in enumerate(on_cpu)]
assert [frame.pts for frame in reader.frames([40, 11, 69])] == [on_cpu[i].pts for i in (40, 11, 69)]
assert not reader.issues, reader.issues
"""
    run(driver, code)


def test_the_cpu_decodes_h264_when_the_driver_gives_no_block_statistics(driver: Path) -> None:
    code = f"""
reader = tricodec.FrameReader({str(media.generated("h264_nob.mp4"))!r}, block_statistics=True)
assert reader.device == "cpu" and len(reader[3].block_statistics) > 32
reader = tricodec.FrameReader({str(media.generated("h264_nob.mp4"))!r}, device="cuda", block_statistics=True)
assert reader.device == "cuda:0" and reader[3].block_statistics is None
reader = tricodec.FrameReader({str(media.generated("hevc.mp4"))!r}, block_statistics=True)
assert reader.device == "cuda:0" and reader[3].block_statistics is None
"""
    run(driver, code)


@pytest.mark.parametrize("at_a_time", [1, 8])  # no call is for two GOPs
def test_frames_in_order_are_read_ahead_by_more_decoders(driver: Path, tmp_path: Path, at_a_time: int) -> None:
    """The pictures are the stand-in's; that each is the right one is tested over decoders of the CPU."""
    clip, log = tmp_path / "clip.mp4", tmp_path / "log"
    media.ffmpeg(
        "-f lavfi -i testsrc2=size=320x180 -frames:v 160 -pix_fmt yuv420p -c:v libx264 -preset ultrafast -g 16", clip
    )
    code = f"""
reader = tricodec.FrameReader({str(clip)!r}, device="cuda", num_workers=4)
def num_decoders():
    with open({str(log)!r}) as file:
        return sum(line.startswith("decoder ") for line in file)
def expect(start, stop):
    numbers = range(start, stop)
    frames = [reader[i] for i in numbers] if {at_a_time} == 1 else reader.frames(numbers)
    assert [frame.index for frame in frames] == list(numbers)
expect(0, 16)
few = num_decoders()
for _ in range(50):  # on a busy machine one thread may take all tasks before another runs
    for start in range(16, 160, {at_a_time}):
        expect(start, min(start + {at_a_time}, 160))
    if num_decoders() > few:
        break
    expect(0, 16)
assert few == 1 and num_decoders() > few, (few, num_decoders())
expect(3, 5)
assert [len(reader.batch(range(i, i + 8))) for i in (40, 48, 56)] == [8, 8, 8]
"""
    run(driver, code, FAKE_CUDA_LOG=str(log))
