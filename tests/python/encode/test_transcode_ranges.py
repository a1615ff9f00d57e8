# SPDX-License-Identifier: Apache-2.0
"""Every span of every kind of source is cut exactly, and a transcode keeps every frame and the sound in step."""

from __future__ import annotations

import io
import random
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import media
import numpy as np
import PyNvVideoCodec as nvc
import pytest
import tricodec

PICTURES = "-f lavfi -i testsrc2=s=96x64:d=4:r=25"
SOUND = "-f lavfi -i sine=d=4"


class Source(NamedTuple):
    """How ffmpeg makes a file: its name, its options, and whether it has sound."""

    name: str
    options: str
    sound: bool = True


SOURCES = {
    "mpeg2 in ts": Source("a.ts", "-c:v mpeg2video -g 15 -bf 2"),
    "mpeg2 in ps": Source("a.mpg", "-c:v mpeg2video -g 15 -bf 2"),
    "mpeg2 bare": Source("a.m2v", "-c:v mpeg2video -g 15 -bf 2", False),
    "h264 in ts": Source("a.ts", "-c:v libx264 -g 25"),
    "h264 in mp4": Source("a.mp4", "-c:v libx264 -g 25"),
    "h264 in mkv": Source("a.mkv", "-c:v libx264 -g 25"),
    "h264 bare": Source("a.h264", "-c:v libx264 -g 25", False),
    "h264, open groups": Source("a.mp4", "-c:v libx264 -g 12 -x264-params open-gop=1:bframes=3"),
    "hevc, open groups": Source("a.mp4", "-c:v libx265 -x265-params log-level=error -g 25"),
    "hevc in ts": Source("a.ts", "-c:v libx265 -x265-params log-level=error -g 25"),
    "hevc bare": Source("a.hevc", "-c:v libx265 -x265-params log-level=error -g 25", False),
    "mpeg4 in mp4": Source("a.mp4", "-c:v mpeg4 -g 25 -bf 2"),
    "mpeg4 in avi": Source("a.avi", "-c:v mpeg4 -g 25 -bf 2"),
    "vp9 in webm": Source("a.webm", "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -g 25"),
    "fragments": Source("a.mp4", "-c:v libx264 -g 25 -movflags frag_keyframe+empty_moov"),
    "before the clock wraps": Source("a.ts", "-c:v libx264 -g 25 -output_ts_offset 95441.717 -muxdelay 0"),
}


def made(source: Source, folder: Path, number: int = 0) -> Path:
    """The file, made by ffmpeg; another `number` shows other pictures."""
    path = folder / f"{number}-{source.name}"
    pictures = PICTURES.replace("testsrc2", "testsrc2" if number == 0 else "testsrc")
    sound = [SOUND, "-shortest"] if source.sound else ["-an"]
    media.ffmpeg(pictures, *sound, "-pix_fmt yuv420p", source.options, path)
    return path


def entries(path: Path, entry: str) -> list[float]:
    """The numbers that ffprobe prints for an entry."""
    command = ["ffprobe", "-v", "error", "-show_entries", entry, "-of", "csv=p=0", path]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [float(word) for word in text.replace(",", " ").split()]


@pytest.mark.parametrize("kind", SOURCES)
def test_every_span_has_ffmpegs_frames(kind: str, tmp_path: Path) -> None:
    path = made(SOURCES[kind], tmp_path)
    frames = media.ffmpeg_framemd5(path)
    chosen = random.Random(kind)
    with tricodec.FrameReader(path, device="cpu") as reader:
        times = [float(time) for time in reader.pts_seconds]
    assert len(times) == len(frames) == 100

    for number in range(20):
        first = chosen.randrange(len(frames) - 1)
        end = chosen.randrange(first + 1, len(frames))
        out = tmp_path / "out.mkv"
        span = {"start": round(times[first], 6), "end": round(times[end], 6)}
        result = tricodec.transcode(path, out, codec="ffv1", device="cpu", num_workers=1 + number % 2, **span)
        assert media.ffmpeg_framemd5(out) == frames[first:end], span
        assert result.num_damaged_packets == 0
        assert result.seconds == pytest.approx((end - first) / 25, abs=0.002)
        with tricodec.FrameReader(path, device="cpu") as reader:
            assert reader.select(start_s=times[first], end_s=times[end]) == list(range(first, end))
            md5s = [reader[i].md5() for i in range(first, end, 7)]
        with tricodec.FrameReader(out, device="cpu") as reader:
            assert [frame.md5() for frame in reader[::7]] == md5s

    transcoder = nvc.Transcoder(str(path), str(tmp_path / "segment.mp4"), 0, 0, 0, codec="h264", preset="P1")
    transcoder.segmented_transcode(times[33], times[71])
    (segment,) = tmp_path.glob("segment_*.mp4")
    assert len(tricodec.FrameReader(segment, device="cpu")) == 38


@pytest.mark.parametrize("kind", SOURCES)
def test_a_transcode_begins_at_zero_and_keeps_every_frame_and_the_sound_in_step(kind: str, tmp_path: Path) -> None:
    path, out = made(SOURCES[kind], tmp_path), tmp_path / "out.mp4"

    tricodec.transcode(path, out, device="cpu", options={"qp": 0, "preset": "ultrafast"}, audio=SOURCES[kind].sound)

    assert media.ffmpeg_framemd5(out) == media.ffmpeg_framemd5(path)
    by_ffmpeg = tmp_path / "ffmpeg.mp4"
    media.ffmpeg("-i", path, "-c:v libx264 -preset ultrafast -vsync 0 -c:a copy", by_ffmpeg)
    assert entries(out, "stream=start_time") == pytest.approx(entries(by_ffmpeg, "stream=start_time"), abs=0.021)


@pytest.mark.parametrize("num_workers", [1, 2])
def test_joined_recordings_go_on_without_a_gap(num_workers: int, tmp_path: Path) -> None:
    parts = [made(SOURCES["h264 in ts"], tmp_path, number) for number in (0, 1, 0)]
    path, out = tmp_path / "joined.ts", tmp_path / "out.mp4"
    path.write_bytes(b"".join(part.read_bytes() for part in parts))
    frames = media.ffmpeg_framemd5(path)
    assert len(frames) == 300

    lossless = {"qp": 0, "preset": "ultrafast"}
    result = tricodec.transcode(path, out, device="cpu", options=lossless, num_workers=num_workers)

    assert media.ffmpeg_framemd5(out) == frames
    assert result.seconds == pytest.approx(12, abs=0.05)
    video, sound = entries(out, "stream=duration")
    assert (video, sound) == (pytest.approx(12, abs=0.05), pytest.approx(12, abs=0.1))
    # ffmpeg's own cut of the same file counts from its first frame.
    first = entries(path, "format=start_time")[0]
    tricodec.transcode(path, out, device="cpu", options=lossless, start=first + 5, end=first + 9)
    assert media.ffmpeg_framemd5(out) == frames[125:225]


def test_frames_of_a_wild_clock_keep_their_places(tmp_path: Path) -> None:
    plain, path, out = tmp_path / "plain.mkv", tmp_path / "wild.mkv", tmp_path / "out.mkv"
    media.ffmpeg(PICTURES, "-c:v libx264 -g 25 -bf 0", plain)
    media.ffmpeg("-i", plain, "-c copy -bsf:v", r"setts=pts=if(eq(N\,20)+eq(N\,51)\,PTS+500000\,PTS)", path)
    frames = media.ffmpeg_framemd5(path)
    assert len(frames) == 100

    result = tricodec.transcode(path, out, device="cpu", codec="ffv1")

    assert media.ffmpeg_framemd5(out) == frames
    assert result.seconds == pytest.approx(4)
    with tricodec.FrameReader(out, device="cpu") as reader:
        assert [round(float(time) * 1000) for time in reader.pts_seconds] == [i * 40 for i in range(100)]


def test_negative_times_are_accepted_where_the_video_begins_before_zero(tmp_path: Path) -> None:
    path = made(SOURCES["before the clock wraps"], tmp_path)
    with tricodec.FrameReader(path, device="cpu") as reader:
        times = [float(time) for time in reader.pts_seconds]
    assert times[0] < -1
    out = tmp_path / "out.mkv"
    tricodec.transcode(path, out, device="cpu", codec="ffv1", start=times[10], end=times[30])
    assert media.ffmpeg_framemd5(out) == media.ffmpeg_framemd5(path)[10:30]

    with pytest.raises(ValueError, match=r"the time -1.5 s is not accepted; the video begins at 0 s"):
        tricodec.transcode(made(SOURCES["h264 in mp4"], tmp_path), None, format="mp4", start=-1.5)


@pytest.mark.parametrize("container", ["mp4", "mov"])
def test_muxer_and_encoder_show_frames_from_before_zero(container: str, tmp_path: Path) -> None:
    path = tmp_path / f"out.{container}"
    encoder = tricodec.Encoder(64, 48, frame_rate=25, global_header=True, device="cpu")
    picture = np.zeros((48, 64, 3), np.uint8)
    with tricodec.Muxer(path) as muxer:
        muxer.add_stream(encoder.stream)
        for number in range(-30, 20):
            for packet in encoder.encode(picture, pts=number):
                muxer.write(packet)
        for packet in encoder.flush():
            muxer.write(packet)

    assert len(media.ffmpeg_framemd5(path)) == 50


def test_the_last_frame_of_a_variable_rate_keeps_its_length(tmp_path: Path) -> None:
    path, out = tmp_path / "vfr.mp4", tmp_path / "out.mp4"
    chosen = "select='not(mod(n,7))+not(mod(n,5))'"
    media.ffmpeg(f"{PICTURES} -vf", chosen, "-vsync vfr -c:v libx264 -g 5", path)

    result = tricodec.transcode(path, out, device="cpu")

    assert entries(out, "stream=duration") == entries(path, "stream=duration")
    assert result.seconds == pytest.approx(entries(path, "stream=duration")[0], abs=1e-3)
    assert entries(out, "frame=pts_time") == entries(path, "frame=pts_time")


def test_the_source_is_never_replaced(tmp_path: Path) -> None:
    path, link = tmp_path / "a.mp4", tmp_path / "link.mp4"
    path.write_bytes(media.generated("h264_nob.mp4").read_bytes())
    link.symlink_to(path)
    before = path.read_bytes()
    for target in (path, str(path), link):
        with pytest.raises(ValueError, match="is the source itself"):
            tricodec.transcode(path, target)
    assert path.read_bytes() == before


def test_metadata_chapters_languages_and_flags_are_kept_and_other_streams_named(tmp_path: Path) -> None:
    video = made(SOURCES["h264 in mp4"], tmp_path)
    tags, words, path, out = (tmp_path / name for name in ("tags.txt", "s.srt", "in.mkv", "out.mp4"))
    tags.write_text(
        ";FFMETADATA1\ntitle=The title\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=2000\ntitle=one\n"
        "[CHAPTER]\nTIMEBASE=1/1000\nSTART=2000\nEND=4000\ntitle=two\n"
    )
    words.write_text("1\n00:00:00,000 --> 00:00:02,000\nhello\n")
    media.ffmpeg(
        "-i", video, "-i", words, "-i", tags,
        "-map 0:v -map 0:a -map 1 -map_metadata 2 -metadata:s:a language=deu -c copy -c:s srt", path,
    )  # fmt: skip

    result = tricodec.transcode(path, out, device="cpu", start=1.0)

    assert result.left_out == "subtitle stream 2 (subrip)"
    assert tricodec.probe(out).streams[1].language == "deu"
    command = ["ffprobe", "-v", "error", "-show_chapters", "-show_entries", "format_tags=title", "-of", "csv", out]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "The title" in shown
    assert [line.split(",")[-1] for line in shown.splitlines() if line.startswith("chapter")] == ["one", "two"]


@pytest.mark.parametrize(
    ("kind", "target"),
    [
        ("h264 in mp4", "out.mp4"), ("h264 in mkv", "out.mp4"), ("h264 in ts", "out.mp4"), ("mpeg4 in mp4", "out.ts"),
        ("hevc, open groups", "out.mp4"), ("hevc, open groups", "out.ts"), ("h264, open groups", "out.ts"),
    ],
)  # fmt: skip
def test_copy_begins_at_a_key_frame_and_decodes_to_the_sources_frames(
    kind: str, target: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, out = made(SOURCES[kind], tmp_path), tmp_path / target
    frames = media.ffmpeg_framemd5(path)
    with tricodec.FrameReader(path, device="cpu") as reader:
        start = float(reader.pts_seconds[65])
        key = max(number for number in reader.key_frames if number <= 65)

    result = tricodec.transcode(path, out, codec="copy", start=start)

    assert media.ffmpeg_framemd5(out) == frames[key:]
    assert result.num_frames == 100 - key
    assert "is copied from its key frame" in caplog.text


@pytest.mark.parametrize(("target", "hides"), [("out.mp4", True), ("out.mkv", False)])
def test_copy_begins_at_the_key_frame_that_an_edit_list_hides(
    target: str, hides: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, out = tmp_path / "cut.mp4", tmp_path / target
    media.ffmpeg("-ss 0.7 -i", made(SOURCES["h264 in mp4"], tmp_path), "-c copy", path)
    frames = media.ffmpeg_framemd5(path)

    tricodec.transcode(path, out, codec="copy", start=0.12)

    assert media.ffmpeg_framemd5(out)[-len(frames) :] == frames
    assert (len(tricodec.FrameReader(out, device="cpu")) == len(frames)) == hides
    assert ("hides by an edit list" in caplog.text) != hides


@pytest.mark.parametrize(("codec", "target"), [("h264", "out.mp4"), ("copy", "out.mkv"), ("copy", "out.ts")])
def test_sound_that_overlaps_where_recordings_are_joined_is_kept(codec: str, target: str, tmp_path: Path) -> None:
    part, path, out = tmp_path / "part.ts", tmp_path / "joined.ts", tmp_path / target
    media.ffmpeg(PICTURES, "-f lavfi -i sine=d=4.06 -pix_fmt yuv420p -c:v libx264 -g 25", part)
    path.write_bytes(part.read_bytes() * 3)
    result = tricodec.transcode(path, out, codec=codec, device="cpu")

    packets = media.ffprobe(path, "-select_streams a -show_entries packet=pts")["packets"]
    assert (result.num_frames, result.num_audio_packets) == (300, len(packets))
    assert result.seconds == pytest.approx(12, abs=0.15)


def test_a_container_that_would_lose_a_stream_refuses_it(tmp_path: Path) -> None:
    with pytest.raises(tricodec.UnsupportedError, match="'mpegts' cannot contain vp9"):
        tricodec.transcode(made(SOURCES["vp9 in webm"], tmp_path), tmp_path / "out.ts", codec="copy")


@pytest.mark.parametrize("index", ["packets", "container"])
def test_the_last_frame_keeps_its_length_where_the_video_begins_later(index: str, tmp_path: Path) -> None:
    path = tmp_path / "later.mp4"
    media.ffmpeg(SOUND, "-itsoffset 0.021", PICTURES, "-vsync 0 -c:v libx264 -bf 0 -pix_fmt yuv420p", path)
    with tricodec.FrameReader(path, device="cpu", index=index) as reader:
        assert reader.duration == pytest.approx(4)


def test_an_object_that_can_seek_is_read_at_several_places(tmp_path: Path) -> None:
    path, out = made(SOURCES["h264 in mp4"], tmp_path), tmp_path / "out.mkv"
    source = io.BytesIO(path.read_bytes())
    tricodec.transcode(source, out, codec="ffv1", device="cpu", audio_codec="flac", start=1.0, num_workers=2)
    assert media.ffmpeg_framemd5(out) == media.ffmpeg_framemd5(path)[25:]
    assert Fraction(entries(out, "format=duration")[0]).limit_denominator(100) == pytest.approx(3, abs=0.1)
