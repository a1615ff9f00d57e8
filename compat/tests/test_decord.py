# SPDX-License-Identifier: Apache-2.0
"""decord's names by their documented rules, against ffmpeg; TRICODEC_TEST_ORIGINALS=1 runs decord itself."""

from __future__ import annotations

import io
import threading
from pathlib import Path
from typing import Any

import media
import numpy as np
import pytest
from peer_names import ORIGINALS, assert_same_pixels, decord, ffmpeg_rgb
from tricodec_compat import _packages

ours_only = pytest.mark.skipif(ORIGINALS, reason="decord has this defect")


def reader(clip: str = "h264_bframes.mp4", **options: Any) -> Any:
    return decord.VideoReader(str(media.generated(clip)), **options)


@pytest.mark.parametrize("clip", ["h264_bframes.mp4", "vp9_odd.webm", "full_range.mp4", "h264_vfr.mkv"])
def test_pixels_are_those_of_ffmpeg(clip: str) -> None:
    # decord 0.6 has the scale filter of its FFmpeg 4, which is bilinear, also where it changes chroma alone.
    expected = ffmpeg_rgb(media.generated(clip), filters="scale=flags=bilinear,format=rgb24")
    assert_same_pixels(reader(clip)[:].asnumpy(), expected)


@ours_only
@pytest.mark.parametrize(
    ("clip", "turn", "size"),
    [
        ("h264_bframes.mp4", "", (160, 90)), ("h264_rot90.mp4", "transpose=clock,", (100, -1)),
        ("h264_rot180.mp4", "hflip,vflip,", (-1, 60)), ("h264_rot270.mp4", "transpose=cclock,", (400, 300)),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("release", "flags"), [("decord", "bilinear"), ("decord2", "bicubic")])
def test_sizes_are_those_of_ffmpegs_scaler_as_each_release_sets_it(
    release: str, flags: str, clip: str, turn: str, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(_packages.DISTRIBUTIONS, "decord", release)
    height, width = reader(clip)[0].shape[:2]
    filters = f"{turn}scale={size[0] if size[0] > 0 else width}:{size[1] if size[1] > 0 else height}:flags={flags}"
    found = reader(clip, width=size[0], height=size[1]).get_batch([0, 7]).asnumpy()
    assert_same_pixels(found, ffmpeg_rgb(media.generated(clip), filters=filters)[[0, 7]])


@ours_only
def test_a_narrow_output_is_read() -> None:
    assert reader(width=32, height=24).get_batch([0, 1]).shape == (2, 24, 32, 3)


@pytest.mark.parametrize(("clip", "turns"), [("h264_rot90.mp4", -1), ("h264_rot180.mp4", 2), ("h264_rot270.mp4", 1)])
def test_a_rotated_video_is_upright(clip: str, turns: int) -> None:
    expected = np.rot90(ffmpeg_rgb(media.generated(clip))[:2], turns, axes=(1, 2))
    found = reader(clip)[:2].asnumpy().astype(int)
    assert found.shape == expected.shape
    assert np.abs(found - expected).mean() < 2  # decord turns the planes before it converts them


@ours_only
@pytest.mark.parametrize("clip", ["h264_bframes.mp4", "truncated.mkv", "h264_size_change.h264"])
def test_frames_that_are_converted_ahead_by_many_cores_are_the_same(clip: str) -> None:
    """Eight workers convert the frames after those that are asked for in order, wherever the order breaks off."""
    alone, ahead = reader(clip, num_threads=1), reader(clip, num_threads=8)
    count = len(alone)
    for i in [*range(count), *range(3, 20), 40, *range(20, 24), *range(5, count, 2)]:
        if i >= count:
            continue
        found = []
        for each in (alone, ahead):
            try:
                found.append(each[i].asnumpy().tobytes())
            except decord.DECORDError as error:
                found.append(str(error).encode())
        assert found[0] == found[1], i


def test_frames_by_number() -> None:
    video = reader()
    every = ffmpeg_rgb(media.generated("h264_bframes.mp4"))
    assert len(video) == 50
    for key in (0, 49, -1, -50):
        assert_same_pixels(video[key].asnumpy(), every[key])
    for key in (slice(2, 20, 3), slice(10, 2, -2), slice(45, None)):
        assert_same_pixels(video[key].asnumpy(), every[key])
    for numbers in ([5, 1, 1, 49, -2], np.array([3, 4], np.uint8), range(4, 8), [1.7]):
        assert_same_pixels(video.get_batch(numbers).asnumpy(), every[np.array(numbers, np.int64)])
    assert video.get_batch([]).shape == (0, 180, 320, 3)
    for key in (50, -51):
        with pytest.raises(IndexError, match="out of bound: 50"):
            video[key]
    with pytest.raises(IndexError, match="Out of bound indices"):
        video.get_batch([50])
    with pytest.raises(IndexError, match="Invalid negative indices"):
        video.get_batch([-51])
    with pytest.raises(TypeError):
        video[[1]]
    assert sum(1 for _ in video) == 50


def test_the_place_of_next() -> None:
    video = reader()
    every = ffmpeg_rgb(media.generated("h264_bframes.mp4"))

    def at(i: int) -> None:
        assert_same_pixels(video.next().asnumpy(), every[i])

    at(0)
    at(1)
    video.skip_frames(10)
    at(12)
    assert video.seek_accurate(30) is None
    at(30)
    video[4]
    at(5)
    video.get_batch([20, 9])
    at(10)
    video.seek(0)
    at(0)
    video.seek_accurate(49)
    at(49)
    with pytest.raises(StopIteration):
        video.next()
    for call in (video.seek, video.seek_accurate):
        for place in (-1, 50):
            with pytest.raises(AssertionError):
                call(place)
    with pytest.raises(AssertionError):
        video.skip_frames(0)


@ours_only
def test_seek_goes_to_key_frames() -> None:
    video = reader()
    every = ffmpeg_rgb(media.generated("h264_bframes.mp4"))
    for place, shown in ((35, 36), (20, 12), (49, 48)):
        video.seek(place)
        assert_same_pixels(video.next().asnumpy(), every[shown])


def test_times_keys_and_rate(tmp_path: Path) -> None:
    video = reader("h264_nonzero_start.mkv")
    times = np.array(media.ffprobe_times(media.generated("h264_nonzero_start.mkv")))
    found = video.get_frame_timestamp([0, 7, -1])
    assert (found.dtype, found.shape) == (np.float32, (3, 2))
    assert np.allclose(found[:, 0], times[[0, 7, -1]] - times[0], atol=1e-3)
    assert np.allclose(found[:, 1] - found[:, 0], 0.04, atol=1e-3)
    assert video.get_frame_timestamp(7).shape == (2,)
    assert video.get_avg_fps() == 25.0
    media.ffmpeg("-i", media.generated("mpeg1.mpg"), "-c copy", tmp_path / "states_no_rate.ts")
    assert decord.VideoReader(str(tmp_path / "states_no_rate.ts")).get_avg_fps() == pytest.approx(25)
    assert reader("h264_bframes.mp4").get_key_indices() == [0, 12, 24, 36, 48]


@ours_only
def test_open_groups_are_read_and_counted_as_shown() -> None:
    video = reader("hevc_open_gop.mkv")
    every = ffmpeg_rgb(media.generated("hevc_open_gop.mkv"))
    assert video.get_key_indices() == [0, 12, 24, 36, 48]
    for i in (21, 19, 18, 41, 39, 38, 5, 49):
        assert_same_pixels(video[i].asnumpy(), every[i])
    assert np.allclose(video.get_frame_timestamp(slice(0, 2)), [[0, 0.04], [0.04, 0.08]], atol=1e-3)


@ours_only
@pytest.mark.parametrize("clip", ["truncated.mkv", "zeroed.mp4"])
def test_a_file_with_fewer_frames_than_promised_ends(clip: str) -> None:
    video = reader(clip)
    assert video.get_batch(range(len(video) // 4)).shape[1:] == (180, 320, 3)
    strict = reader(clip, fault_tol=0)
    with pytest.raises((decord.DECORDLimitReachedError, decord.DECORDError), match=r"damaged|fewer frames"):
        strict.get_batch(range(len(strict)))


def test_sources_and_errors(tmp_path: Path) -> None:
    path = media.generated("h264_bframes.mp4")
    file = io.BytesIO(path.read_bytes())
    assert_same_pixels(decord.VideoReader(file)[3].asnumpy(), reader()[3].asnumpy())
    assert not file.closed
    text = tmp_path / "text.txt"
    text.write_text("no video")
    for missing in (str(tmp_path / "none.mp4"), str(text)):
        with pytest.raises(RuntimeError, match="Error reading"):
            decord.VideoReader(missing)
    for wrong in (path, b"abc"):
        with pytest.raises(TypeError):
            decord.VideoReader(wrong)
    sound = tmp_path / "sound.wav"
    media.ffmpeg("-f lavfi -i sine=duration=1", sound)
    with pytest.raises(decord.DECORDError):
        decord.VideoReader(str(sound))
    with pytest.raises(AssertionError):
        reader(ctx="cpu")
    assert decord.base.DECORDError is decord.DECORDError
    assert not issubclass(decord.DECORDLimitReachedError, decord.DECORDError)


def test_contexts_and_arrays() -> None:
    assert (decord.cpu(0).device_type, decord.gpu(1).device_type, decord.gpu(1).device_id) == (1, 2, 1)
    assert decord.cpu() == decord.cpu(0)
    assert repr(decord.cpu(0)) == "cpu(0)"
    frame = reader()[0]
    assert (frame.shape, frame.dtype, len(frame)) == ((180, 320, 3), "uint8", 180 * 320 * 3)
    assert repr(frame.ctx) == "cpu(0)"
    assert frame.asnumpy().flags.writeable
    assert decord.nd.array(np.arange(3)).asnumpy().tolist() == [0, 1, 2]
    assert decord.nd is decord.ndarray or ORIGINALS


@pytest.mark.needs_torch
def test_the_torch_bridge_gives_tensors_of_this_thread() -> None:
    import torch

    video = reader()
    with decord.bridge.use_torch():
        batch = video.get_batch([1, 2])
        kinds: list[Any] = []
        thread = threading.Thread(target=lambda: kinds.append(reader()[0]))
        thread.start()
        thread.join()
    assert isinstance(batch, torch.Tensor)
    assert batch.dtype == torch.uint8
    assert batch.shape == (2, 180, 320, 3)
    assert hasattr(kinds[0], "asnumpy")
    assert torch.equal(batch, torch.from_numpy(video.get_batch([1, 2]).asnumpy()))
    decord.bridge.set_bridge("torch")
    assert isinstance(video[0], torch.Tensor)
    decord.bridge.reset_bridge()
    assert decord.bridge.to_torch(video[0]).shape == (180, 320, 3)


def test_bridges_are_checked() -> None:
    with pytest.raises(AssertionError, match="valid bridges"):
        decord.bridge.set_bridge("x")


@ours_only
def test_the_numpy_bridge_and_numpys_protocols() -> None:
    video = reader()
    with decord.bridge.use_numpy():
        assert isinstance(video[0], np.ndarray)
    assert np.asarray(video[0]).shape == (180, 320, 3)
    assert np.from_dlpack(video[0]).shape == (180, 320, 3)


def test_batches_of_several_videos() -> None:
    paths = [str(media.generated(name)) for name in ("h264_bframes.mp4", "h264_nob.mp4")]
    loader = decord.VideoLoader(paths, decord.cpu(0), (4, 90, 160, 3), 1, 5, 0)
    batches = [(frames.asnumpy(), places.asnumpy().tolist()) for frames, places in loader]
    assert len(loader) == len(batches) == 8
    assert batches[0][1] == [[0, 0], [0, 2], [0, 4], [0, 6]]
    assert batches[1][1] == [[0, 12], [0, 14], [0, 16], [0, 18]]
    assert [places[0][0] for _, places in batches] == [0] * 4 + [1] * 4
    expected = reader("h264_nob.mp4", width=160, height=90).get_batch([0, 2, 4, 6]).asnumpy()
    assert_same_pixels(batches[4][0], expected)
    loader.reset()
    assert next(loader)[1].asnumpy().tolist() == batches[0][1]
    mixed = decord.VideoLoader(paths, [decord.cpu(0)], (4, 90, 160, 3), 1, 5, 2)
    found = sorted(places.asnumpy().tolist() for _, places in mixed)
    assert found == sorted(places for _, places in batches)
    for shape in ((4, 90, 160), "4"):
        with pytest.raises(AssertionError):
            decord.VideoLoader(paths, decord.cpu(0), shape, 1, 5, 0)
    with pytest.raises(decord.DECORDError):
        decord.VideoLoader(paths, decord.cpu(0), (4, 90, 160, 3), 1, 5, 3)


def test_log_levels_have_ffmpegs_numbers() -> None:
    names = decord.logging
    assert (names.QUIET, names.PANIC, names.ERROR, names.WARNING, names.INFO, names.TRACE) == (-8, 0, 16, 24, 32, 56)
    names.set_level(names.QUIET)
    names.set_level(names.ERROR)


def sound_of(path: Path, options: str) -> np.ndarray[Any, Any]:
    return np.frombuffer(media.ffmpeg("-i", path, *options.split(), "-f f32le -"), np.float32)


def test_sound_is_ffmpegs() -> None:
    path = media.generated("h264_audio.mp4")
    audio = decord.AudioReader(str(path))
    expected = sound_of(path, "-map 0:a -ac 1")
    assert audio.shape == (1, len(expected))
    assert len(audio) == 1
    assert np.abs(audio[:].asnumpy()[0] - expected).max() < 1e-4
    assert audio[100].shape == (1,)
    assert audio[-300:-100].shape == (1, 200)
    assert np.array_equal(audio.get_batch([5, 5, -1]).asnumpy()[0], audio[:].asnumpy()[0][[5, 5, -1]])
    assert audio.duration() == 2
    assert audio.sample_rate == -1
    assert audio.add_padding() == 0
    for key in (len(expected), -len(expected) - 1):
        with pytest.raises(IndexError, match="out of bound"):
            audio[key]
    with pytest.raises(IndexError, match="Out of bound"):
        audio.get_batch([len(expected)])
    with pytest.raises(decord.DECORDError):
        decord.AudioReader(str(media.generated("h264_bframes.mp4")))


@ours_only
def test_sound_is_resampled_without_seams() -> None:
    path = media.generated("h264_audio.mp4")
    found = decord.AudioReader(str(path), sample_rate=16000, mono=False)[:].asnumpy()
    expected = sound_of(path, "-map 0:a -ar 16000").reshape(-1, found.shape[0]).T
    count = min(found.shape[1], expected.shape[1])
    assert abs(found.shape[1] - expected.shape[1]) <= 1
    assert np.abs(found[:, :count] - expected[:, :count]).max() < 1e-3


def test_frames_come_with_their_sound() -> None:
    path = str(media.generated("h264_audio.mp4"))
    both = decord.AVReader(path, sample_rate=48000)
    assert len(both) == 50
    sound, frame = both[7]
    assert frame.shape == (180, 320, 3)
    assert sound.shape == (1, 1920)
    sounds, frames = both[10:14]
    assert frames.shape == (4, 180, 320, 3)
    whole = decord.AudioReader(path, sample_rate=48000)[:].asnumpy()
    joined = np.concatenate([each.asnumpy() for each in sounds], axis=1)
    assert np.allclose(joined, whole[:, 19200 : 19200 + joined.shape[1]], atol=1e-4)
    with pytest.raises(IndexError):
        both[50]


@pytest.mark.skipif(ORIGINALS, reason="decord counts frames that an edit list hides, and cannot read as many")
def test_frames_that_an_edit_list_hides_are_not_counted() -> None:
    path = media.generated("h264_edit_list.mp4")
    packets = media.ffprobe(path, "-select_streams v:0 -show_packets -show_entries packet=pts")["packets"]
    reader = decord.VideoReader(str(path))
    assert len(packets) > len(reader) == len(media.ffprobe_times(path))
    assert_same_pixels(reader.get_batch([0, len(reader) - 1]).asnumpy(), ffmpeg_rgb(path)[[0, -1]])


def test_variables_that_tune_its_own_seeking_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("DECORD_EOF_RETRY_MAX", "1"), ("DECORD_REWIND_RETRY_MAX", "1"), ("DECORD_DUPLICATE_WARNING_THRESHOLD", "0"),
        ("DECORD_AVIO_BUFFER_SIZE", "1"), ("DECORD_NUM_THREADS", "1"), ("DECORD_BIND_THREADS", "1"),
    ):  # fmt: skip
        monkeypatch.setenv(name, value)
    path = media.generated("h264_bframes.mp4")
    reader = decord.VideoReader(str(path))
    wanted = [40, 3, 21, len(reader) - 1]
    assert_same_pixels(reader.get_batch(wanted).asnumpy(), ffmpeg_rgb(path)[wanted])
