# SPDX-License-Identifier: Apache-2.0
"""torchcodec's VideoDecoder by its documented rules; TRICODEC_TEST_ORIGINALS=1 runs torchcodec itself."""

from __future__ import annotations

import io
import json
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import media
import numpy as np
import pytest
from peer_names import ORIGINALS, assert_same_pixels, digest, ffmpeg_rgb, torch, torchcodec

pytestmark = pytest.mark.needs_torch


def decoder(clip: str = "h264_bframes.mp4", **options: Any) -> Any:
    return torchcodec.decoders.VideoDecoder(media.generated(clip), **options)


@pytest.mark.parametrize(
    "clip",
    [
        "h264_444_odd.mkv", "vp9_odd.webm", "h264_422_10.mkv", "hevc_444_12.mkv", "full_range.mp4", "mjpeg.avi",
        "h264_rgb.mkv", "gray.mkv", "hevc_open_gop.mkv",
    ],
)  # fmt: skip
def test_pixels_are_those_of_ffmpeg(clip: str) -> None:
    found = decoder(clip, dimension_order="NHWC")[:]
    assert_same_pixels(found, ffmpeg_rgb(media.generated(clip)))


@pytest.mark.parametrize("clip", ["h264_bframes.mp4", "h264_420_10.mkv"])
def test_float_pixels_are_ffmpegs_16_bits(clip: str) -> None:
    found = decoder(clip, dimension_order="NHWC", output_dtype=torch.float32)[3:6]
    assert found.dtype == torch.float32
    sixteen = torch.round(found.double() * 65535).to(torch.int32)
    assert_same_pixels(sixteen, ffmpeg_rgb(media.generated(clip), deep=True)[3:6])
    deep = clip != "h264_bframes.mp4"
    assert decoder(clip, output_dtype="auto")[0].dtype == (torch.float32 if deep else torch.uint8)


@pytest.mark.parametrize(("clip", "turns"), [("h264_rot90.mp4", -1), ("h264_rot180.mp4", 2), ("h264_rot270.mp4", 1)])
def test_a_rotated_video_is_upright(clip: str, turns: int) -> None:
    reader = decoder(clip, dimension_order="NHWC")
    upright = np.rot90(ffmpeg_rgb(media.generated(clip))[:2], turns, axes=(1, 2))
    assert_same_pixels(reader[:2], upright)
    assert (reader.metadata.height, reader.metadata.width) == upright.shape[1:3]
    assert reader.metadata.rotation % 360 == turns * 90 % 360


def test_orders_are_views_of_nhwc_memory() -> None:
    chw, hwc = decoder()[0], decoder(dimension_order="NHWC")[0]
    assert chw.shape == (3, 180, 320)
    assert chw.stride() == (1, 960, 3)
    assert hwc.is_contiguous()
    assert torch.equal(chw, hwc.permute(2, 0, 1))
    for frames in (decoder().get_frames_at([1, 2]), decoder().get_frames_played_at([0.1, 0.2])):
        assert frames.data.shape == (2, 3, 180, 320)


def test_frames_by_number_follow_pythons_rules() -> None:
    reader = decoder()
    assert len(reader) == 50
    every = reader[:]
    for key in (0, 49, -1, -50, np.uint32(7), np.int64(-3), True):
        assert torch.equal(reader[key], every[int(key)])
    for key in (slice(2, 20, 3), slice(-3, 1000), slice(45, None), slice(0, 0), slice(5, 5)):
        assert torch.equal(reader[key], every[key])
    for key in (50, -51):
        with pytest.raises(IndexError, match="Invalid frame index"):
            reader[key]
    for key in ([1], 1.0, "1", torch.tensor([1])):
        with pytest.raises(TypeError, match="Unsupported key type"):
            reader[key]
    with pytest.raises(RuntimeError, match="Step must be greater than 0"):
        reader[::-1]
    with pytest.raises(RuntimeError, match="negative dimension"):
        reader[10:5]
    with pytest.raises(IndexError, match="must be less than"):
        reader.get_frame_at(50)
    with pytest.raises(IndexError, match="negative indices must have an absolute value less than"):
        reader.get_frame_at(-51)
    with pytest.raises(RuntimeError):
        reader.get_frame_at(1.5)


def test_a_loop_keeps_its_place_beside_random_access() -> None:
    reader = decoder()
    every = reader[:]
    for i, frame in enumerate(reader):
        assert torch.equal(frame, every[i])
        reader[(i * 17) % 50]
    assert i == 49


def test_a_frame_has_its_time() -> None:
    frame = decoder().get_frame_at(7)
    data, pts, duration = frame
    assert data.shape == (3, 180, 320)
    assert (pts, duration) == (0.28, 0.04)
    assert isinstance(pts, float)
    assert "data (shape): torch.Size([3, 180, 320])" in repr(frame)


def test_frames_by_list_keep_order_and_repeats() -> None:
    reader = decoder()
    every = reader[:]
    wanted = [30, 2, -1, 2, 49]
    batches = [reader.get_frames_at(kind(wanted)) for kind in (list, tuple, np.array, torch.tensor)]
    for batch in batches:
        assert torch.equal(batch.data, every[wanted])
        assert batch.pts_seconds.dtype == torch.float64
        assert torch.allclose(batch.pts_seconds, torch.tensor([30, 2, 49, 2, 49], dtype=torch.float64) / 25)
    assert torch.equal(reader.get_frames_at(range(3, 9, 2)).data, every[3:9:2])
    assert torch.equal(reader.get_frames_at(torch.tensor([1.7])).data, every[[1]])
    for wrong in ([], [1.5]):
        with pytest.raises(RuntimeError, match="Long but found Float"):
            reader.get_frames_at(wrong)
    for past in ([50], [0, -51]):
        with pytest.raises(IndexError, match="Invalid frame index"):
            reader.get_frames_at(past)


def test_ranges_of_numbers_are_slices() -> None:
    reader = decoder()
    every = reader[:]
    assert torch.equal(reader.get_frames_in_range(-3, 1000).data, every[-3:])
    assert torch.equal(reader.get_frames_in_range(4, None, step=7).data, every[4::7])
    assert len(reader.get_frames_in_range(5, 5)) == 0
    with pytest.raises(ValueError, match="zero"):
        reader.get_frames_in_range(0, 5, 0)
    with pytest.raises(RuntimeError, match="Step must be greater than 0"):
        reader.get_frames_in_range(5, 0, -1)


@pytest.mark.parametrize("clip", ["h264_bframes.mp4", "h264_vfr.mkv", "h264_nonzero_start.mkv", "vp9.webm"])
def test_a_frame_is_on_screen_until_the_next_one(clip: str) -> None:
    reader = decoder(clip)
    times = media.ffprobe_times(media.generated(clip))
    begin, end = reader.metadata.begin_stream_seconds, reader.metadata.end_stream_seconds
    assert begin == pytest.approx(times[0], abs=1e-6)
    wanted = [begin + part * (end - begin) for part in (0, 0.31, 0.999, 0.5, 0.31, 0.07)]
    shown = [max(i for i, time in enumerate(times) if time <= at + 1e-9) for at in wanted]
    batch = reader.get_frames_played_at(wanted)
    assert torch.allclose(batch.pts_seconds, torch.tensor([times[i] for i in shown], dtype=torch.float64), atol=1e-6)
    assert torch.equal(batch.data, reader.get_frames_at(shown).data)
    assert len(reader.get_frames_played_in_range(begin, begin + 1e-10)) == 1
    half = (times[4] + times[5]) / 2
    found = reader.get_frames_played_in_range(half, (times[9] + times[10]) / 2).pts_seconds
    assert found.tolist() == pytest.approx(times[4:10], abs=1e-6)
    assert len(reader.get_all_frames()) == len(times)


def test_times_outside_the_stream_are_errors() -> None:
    reader = decoder()
    for time in (-0.1, 2.0, float("nan")):
        with pytest.raises(IndexError, match="Invalid pts in seconds"):
            reader.get_frame_played_at(time)
    with pytest.raises(RuntimeError, match="must be greater than or equal to"):
        reader.get_frames_played_at([0.1, -1])
    with pytest.raises(RuntimeError, match="must be less than"):
        reader.get_frames_played_at([2.0])
    for wrong in (["x"], None):
        with pytest.raises(ValueError, match="Couldn't convert timestamps input to a tensor"):
            reader.get_frames_played_at(wrong)
    assert reader.get_frames_played_at([]).data.shape == (0, 3, 180, 320)
    assert reader.get_frames_played_in_range(1, 1).pts_seconds.shape == (0,)
    for start, stop in ((2, 2), (1.5, 1), (-1, 1)):
        with pytest.raises(ValueError, match="Invalid start seconds"):
            reader.get_frames_played_in_range(start, stop)
    with pytest.raises(ValueError, match="Invalid stop seconds"):
        reader.get_frames_played_in_range(0, 2.1)


@pytest.mark.parametrize("fps", [5, 15, 24, 29.97, 60])
def test_another_rate_takes_the_frames_on_screen(fps: float) -> None:
    reader = decoder()
    batch = reader.get_frames_played_in_range(0.2, 1.4, fps=fps)
    count = int(1.2 * fps + 0.5)
    assert batch.pts_seconds.tolist() == pytest.approx([0.2 + k / fps for k in range(count)])
    assert batch.duration_seconds.tolist() == pytest.approx([1 / fps] * count)
    shown = [int((0.2 + k / fps) * 25 + 1e-9) for k in range(count)]
    assert torch.equal(batch.data, reader.get_frames_at(shown).data)
    with pytest.raises(RuntimeError, match="fps must be positive"):
        reader.get_frames_played_in_range(0, 1, fps=0)


def test_metadata_of_a_scan_and_of_the_header() -> None:
    exact = decoder().metadata
    names = [line.split(":")[0].strip() for line in repr(exact).splitlines()[1:] if line]
    assert names[:4] == [
        "duration_seconds_from_header", "begin_stream_seconds_from_header", "bit_rate", "codec",
    ]  # fmt: skip
    assert names[-5:] == ["duration_seconds", "begin_stream_seconds", "end_stream_seconds", "num_frames", "average_fps"]
    assert (exact.codec, exact.width, exact.height, exact.pixel_format) == ("h264", 320, 180, "yuv420p")
    assert (exact.num_frames, exact.duration_seconds, exact.average_fps) == (50, 2, 25)
    assert (exact.begin_stream_seconds_from_content, exact.end_stream_seconds_from_content) == (0, 2)
    assert isinstance(exact.average_fps, int)
    assert exact.pixel_aspect_ratio == Fraction(1)
    assert (exact.color_space, exact.rotation) == (None, None)
    assert decoder("bt709.mp4").metadata.color_space == "bt709"
    header = decoder(seek_mode="approximate").metadata
    assert header.num_frames_from_content is None
    assert (header.num_frames, header.duration_seconds, header.average_fps) == (50, 2, 25)
    assert decoder("vp9.webm").metadata.num_frames_from_header is None
    exact.path = "a.mp4"  # datasets sets it


def test_frames_that_an_edit_list_hides_are_not_counted() -> None:
    path = media.generated("h264_edit_list.mp4")
    reader = decoder("h264_edit_list.mp4")
    times = media.ffprobe_times(path)
    assert len(reader) == len(times)
    batch = reader.get_frames_at([0, 5, len(times) - 1])
    assert batch.pts_seconds.tolist() == pytest.approx([times[0], times[5], times[-1]], abs=1e-6)
    assert_same_pixels(batch.data.permute(0, 2, 3, 1), ffmpeg_rgb(path)[[0, 5, -1]])


def test_approximate_mode_gives_the_same_frames_of_a_constant_rate() -> None:
    exact, approximate = decoder(), decoder(seek_mode="approximate")
    assert digest(approximate[::7]) == digest(exact[::7])
    assert approximate.get_frame_at(0).pts_seconds == 0
    assert approximate.get_frame_played_at(1.01).pts_seconds == 1.0


def test_custom_frame_mappings_replace_the_scan() -> None:
    path = media.generated("h264_vfr.mkv")
    found = media.ffprobe(path, "-select_streams v:0 -show_frames -show_entries frame=pts,duration,key_frame")
    for frame in found["frames"]:
        frame.setdefault("duration", frame.get("pkt_duration", 40))
    exact = decoder("h264_vfr.mkv")
    text = json.dumps(found)
    for given in (text, text.encode(), io.StringIO(text)):
        reader = decoder("h264_vfr.mkv", custom_frame_mappings=given)
        assert len(reader) == len(exact)
        assert digest(reader[3:9]) == digest(exact[3:9])
    for wrong, words in (
        ("{", "Invalid custom frame mappings"),
        ("{}", r"The input is empty or missing the required 'frames' key\."),
        ('{"frames": [{"pts": 0}]}', r"keys are required in the frame metadata\."),
    ):
        with pytest.raises(ValueError, match=words):
            decoder(custom_frame_mappings=wrong)
    with pytest.raises(IndexError):
        decoder(custom_frame_mappings='{"frames": []}')
    with pytest.raises(ValueError, match="seek_mode"):
        decoder(custom_frame_mappings=text, seek_mode="approximate")


def test_sources_of_every_kind(tmp_path: Path) -> None:
    path = media.generated("h264_bframes.mp4")
    data = path.read_bytes()
    make = torchcodec.decoders.VideoDecoder
    expected = digest(make(path)[9])
    for source in (
        str(path),
        f"file:{path}",
        data,
        torch.frombuffer(bytearray(data), dtype=torch.uint8),
        io.BytesIO(data),
    ):
        assert digest(make(source)[9]) == expected
    with path.open("rb") as file:
        assert digest(make(file)[9]) == expected
        assert not file.closed
    text = tmp_path / "text.txt"
    text.write_text("no video")
    with text.open() as file, pytest.raises(TypeError, match="binary reading"):
        make(file)
    for unknown in (bytearray(data), memoryview(data), np.frombuffer(data, np.uint8), 5, None):
        with pytest.raises(TypeError, match="Unknown source type"):
            make(unknown)
    with pytest.raises(ValueError):  # noqa: PT011  (each package has words of its own)
        make(b"")
    for missing in (tmp_path / "none.mp4", tmp_path, text):
        with pytest.raises(RuntimeError, match="Could not open input file"):
            make(missing)
    with pytest.raises(RuntimeError, match="Failed to open input buffer"):
        make(b"no video" * 50)
    with pytest.raises(RuntimeError):
        make(torch.zeros(9, dtype=torch.int32))


def test_arguments_are_checked() -> None:
    for options, words in (
        ({"dimension_order": "HWC"}, "Invalid dimension order"),
        ({"num_ffmpeg_threads": None}, "should be an int"),
        ({"seek_mode": "custom_frame_mappings"}, "Invalid seek mode"),
        ({"output_dtype": torch.int8}, "Invalid output_dtype"),
        ({"stream_index": 9}, "is not a valid stream"),
    ):
        with pytest.raises(ValueError, match=words):
            decoder(**options)
    with pytest.raises(RuntimeError, match="Unknown device type"):
        decoder(device="mps")
    with pytest.raises(ValueError, match="not a video stream"):
        decoder("h264_audio.mp4", stream_index=1)
    with pytest.raises(TypeError):
        torchcodec.decoders.VideoDecoder(media.generated("h264_bframes.mp4"), 0)
    with torch.device("cpu"):
        assert decoder(num_ffmpeg_threads=4)[0].device.type == "cpu"


def test_the_best_stream_is_ffmpegs(tmp_path: Path) -> None:
    path = tmp_path / "two.mp4"
    small, large = media.generated("h264_16x16.mp4"), media.generated("h264_bframes.mp4")
    media.ffmpeg("-i", small, "-i", large, "-map 0:v -map 1:v -c copy", path)
    reader = torchcodec.decoders.VideoDecoder(path)
    other = torchcodec.decoders.VideoDecoder(path, stream_index=0)
    assert (reader.stream_index, other.stream_index) == (1, 0)
    assert (other.metadata.width, other.metadata.height) == (16, 16)
    assert digest(reader[3]) == digest(decoder()[3])


def test_threads_change_no_pixel() -> None:
    expected = digest(decoder()[::5])
    assert all(digest(decoder(num_ffmpeg_threads=n)[::5]) == expected for n in (0, 1, 3))


def test_the_cpu_is_no_fallback() -> None:
    status = decoder().cpu_fallback
    assert status.status_known
    assert not status
    assert str(status) == "[CPU] Fallback status: No fallback required"
    names = torchcodec.decoders
    with names.set_cuda_backend("FFmpeg"), names.set_cuda_backend("beta"):
        assert not decoder().cpu_fallback
    names.set_cuda_backend("nvdec")
    with pytest.raises(ValueError, match="Invalid CUDA backend"), names.set_cuda_backend("x"):
        pass
    assert names.get_nvdec_cache_capacity() == 20
    with pytest.raises(RuntimeError, match="must be non-negative"):
        names.set_nvdec_cache_capacity(-1)


@pytest.mark.parametrize("size", [(90, 160), (100, 121), (64, 96), (300, 500)])
def test_resize_is_ffmpegs_bilinear_of_the_rgb(size: tuple[int, int]) -> None:
    reader = decoder(transforms=[torchcodec.transforms.Resize(size)], dimension_order="NHWC")
    found = reader.get_frames_at([0, 9, 3]).data
    filters = f"format=rgb24,scale={size[1]}:{size[0]}:flags=bilinear"
    # Between widths of whole SIMD words torchcodec calls libswscale with another matrix than ffmpeg's filter.
    bound = 8 if size[1] % 32 == 0 else 0
    assert_same_pixels(found, ffmpeg_rgb(media.generated("h264_bframes.mp4"), filters=filters)[[0, 9, 3]], bound)


def test_crops_are_at_torchvisions_places() -> None:
    names = torchcodec.transforms
    every = decoder()[:3]
    cropped = decoder(transforms=[names.CenterCrop((51, 64))])
    assert torch.equal(cropped[:3], every[:, :, 64:115, 128:192])
    assert (cropped.metadata.height, cropped.metadata.width) == (180, 320)
    torch.manual_seed(4)
    found = decoder(transforms=[names.RandomCrop((50, 64))])[:3]
    torch.manual_seed(4)
    top = int(torch.randint(0, 131, ()))
    left = int(torch.randint(0, 257, ()))
    assert torch.equal(found, every[:, :, top : top + 50, left : left + 64])
    with pytest.raises(RuntimeError, match="greater than input height"):
        decoder(transforms=[names.CenterCrop((181, 5))])[0]
    with pytest.raises(ValueError, match="smaller than the crop size"):
        decoder(transforms=[names.RandomCrop((5, 321))])


def test_transforms_are_checked() -> None:
    names = torchcodec.transforms
    for make in (names.Resize, names.CenterCrop, names.RandomCrop):
        with pytest.raises(ValueError, match=r"must have a \(height, width\) pair for the size"):
            make((1, 2, 3))
        with pytest.raises(TypeError):
            make(100)
    with pytest.raises(ValueError, match=r"Unsupported transform|TorchVision is not installed"):
        decoder(transforms=[torch.nn.Identity()])


def test_steps_follow_one_another() -> None:
    names = torchcodec.transforms
    steps = [names.Resize((90, 160)), names.CenterCrop((34, 48)), names.Resize((48, 64))]
    found = decoder(transforms=steps, dimension_order="NHWC")[:2]
    filters = "format=rgb24,scale=160:90:flags=bilinear,crop=48:34:56:28,scale=64:48:flags=bilinear"
    data = media.ffmpeg_frames(media.generated("h264_bframes.mp4"), "rgb24", output_options=("-vf", filters))
    assert_same_pixels(found, np.frombuffer(b"".join(data[:2]), np.uint8).reshape(2, 48, 64, 3))


@pytest.mark.skipif(ORIGINALS, reason="torchcodec pickles a broken handle")
def test_a_decoder_of_a_path_pickles_and_one_of_a_file_refuses() -> None:
    reader = decoder(dimension_order="NHWC")
    copy = pickle.loads(pickle.dumps(reader))
    assert digest(copy[5]) == digest(reader[5])
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(torchcodec.decoders.VideoDecoder(io.BytesIO(media.generated("h264_bframes.mp4").read_bytes())))


def test_a_decoder_and_its_metadata_take_what_datasets_puts_on_them() -> None:
    class Mine(torchcodec.decoders.VideoDecoder):  # type: ignore[misc,name-defined,unused-ignore]
        pass

    reader = Mine(media.generated("h264_bframes.mp4"))
    reader._hf_encoded = {"path": "a.mp4"}
    reader.metadata.path = "a.mp4"
    assert reader.metadata.path == "a.mp4"
    assert isinstance(reader, torchcodec.decoders.VideoDecoder)
    assert reader.get_frames_in_range(0, 10).data.shape == (10, 3, 180, 320)


@pytest.mark.skipif(ORIGINALS, reason="torchcodec starts it at its second group")
def test_a_transport_stream_begins_with_its_first_frame() -> None:
    reader = decoder("h264.ts")
    times = media.ffprobe_times(media.generated("h264.ts"))
    assert reader.get_frame_at(0).pts_seconds == pytest.approx(times[0], abs=1e-5)
    assert_same_pixels(reader[:].permute(0, 2, 3, 1), ffmpeg_rgb(media.generated("h264.ts")))


@pytest.mark.skipif(ORIGINALS, reason="torchcodec asks for the device first")
def test_transforms_are_for_the_cpu() -> None:
    with pytest.raises(RuntimeError, match="only supported for CPU devices"):
        decoder(device="cuda", transforms=[torchcodec.transforms.Resize((90, 160))])


def test_a_frame_ends_by_its_own_duration_for_a_single_time_alone() -> None:
    reader = decoder("h264_vfr.mkv")
    frames = reader.get_all_frames()
    ends = frames.pts_seconds + frames.duration_seconds
    gap = int((ends[:-1] < frames.pts_seconds[1:] - 1e-3).nonzero()[0])
    between = float((ends[gap] + frames.pts_seconds[gap + 1]) / 2)
    assert reader.get_frame_played_at(between).pts_seconds == float(frames.pts_seconds[gap + 1])
    assert reader.get_frames_played_at([between]).pts_seconds.tolist() == [float(frames.pts_seconds[gap])]


@pytest.mark.skipif(ORIGINALS, reason="torchcodec takes the number of frames from the header")
def test_mappings_decide_which_frame_is_on_screen() -> None:
    exact = decoder()
    # Every other frame, each twice as long: number, end and time follow the list.
    stream = media.ffprobe(media.generated("h264_bframes.mp4"), "-select_streams v:0 -show_entries stream=time_base")
    base = Fraction(stream["streams"][0]["time_base"])
    ticks = [round(Fraction(2 * i, 25) / base) for i in range(25)]
    listed = [{"pts": pts, "duration": ticks[1], "key_frame": int(pts == 0)} for pts in ticks]
    reader = decoder(custom_frame_mappings=json.dumps({"frames": listed}))
    assert len(reader) == 25
    assert (reader.metadata.begin_stream_seconds, reader.metadata.end_stream_seconds) == (0, 2)
    assert torch.equal(reader.get_frame_played_at(0.47).data, exact[10])
    assert reader.get_frames_played_at([0.47, 1.99]).pts_seconds.tolist() == [0.4, 1.92]
    assert torch.equal(reader.get_frame_at(7).data, exact[14])
    with pytest.raises(IndexError):
        reader.get_frame_at(25)


@pytest.mark.skipif(ORIGINALS, reason="torchcodec gives frames the times of their packets, in the wrong order")
def test_frames_without_times_of_presentation_follow_their_order() -> None:
    path = media.generated("h264.avi")
    packets = media.ffprobe(path, "-select_streams v:0 -show_packets -show_entries packet=pts_time,dts_time")["packets"]
    assert all("pts_time" not in packet for packet in packets)
    frames = decoder("h264.avi").get_all_frames()
    assert np.allclose(np.diff(frames.pts_seconds), np.diff([float(packet["dts_time"]) for packet in packets]))
    assert_same_pixels(frames.data.permute(0, 2, 3, 1), ffmpeg_rgb(path))


def test_hdr_is_not_tone_mapped(tmp_path: Path) -> None:
    path = tmp_path / "pq.mp4"
    marks = "-color_primaries bt2020 -color_trc smpte2084 -colorspace bt2020nc -color_range tv"
    media.ffmpeg(
        "-i", media.generated("h264_bframes.mp4"), "-frames:v 3 -c:v libx265 -pix_fmt yuv420p10le", marks, path
    )
    reader = torchcodec.decoders.VideoDecoder(path)
    assert reader.metadata.color_transfer_characteristic == "smpte2084"
    assert_same_pixels(reader[:].permute(0, 2, 3, 1), ffmpeg_rgb(path))


@pytest.mark.skipif(ORIGINALS, reason="torchcodec opens no stream without a container")
def test_a_picture_of_another_size_is_read_alone() -> None:
    source = decoder("h264_size_change.h264")
    assert [tuple(source[i].shape) for i in (0, 49, 50, 69)] == 2 * [(3, 180, 320)] + 2 * [(3, 96, 160)]
    assert tuple(source.get_frames_in_range(50, 70).data.shape) == (20, 3, 96, 160)
    with pytest.raises(RuntimeError, match="shape"):
        source.get_frames_in_range(40, 60)
