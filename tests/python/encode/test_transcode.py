# SPDX-License-Identifier: Apache-2.0
"""Every span of every kind of source is cut exactly; times that mp4 cannot store raise an error."""

from __future__ import annotations

import random
import subprocess
import textwrap
from pathlib import Path
from typing import NamedTuple

import media
import PyNvVideoCodec as nvc
import pytest
import tricodec
from preloaded import with_tricodec

PICTURES = "-f lavfi -i testsrc2=s=96x64:d=4:r=25"


SOUND = "-f lavfi -i sine=d=4"


class Source(NamedTuple):
    """How ffmpeg makes a file: its name, its options, and whether it has sound."""

    name: str
    options: str
    sound: bool = True


SOURCES = {
    "mpeg2 in ps": Source("a.mpg", "-c:v mpeg2video -g 15 -bf 2"),
    "h264 in ts": Source("a.ts", "-c:v libx264 -g 25"),
    "h264 in mp4": Source("a.mp4", "-c:v libx264 -g 25"),
    "h264, open groups": Source("a.mp4", "-c:v libx264 -g 12 -x264-params open-gop=1:bframes=3"),
    "hevc in ts": Source("a.ts", "-c:v libx265 -x265-params log-level=error -g 25"),
    "vp9 in webm": Source("a.webm", "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -g 25"),
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

    for number in range(6):
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


@pytest.mark.parametrize("kind", ["h264 in mp4", "h264 in ts"])
def test_copy_begins_at_a_key_frame_and_decodes_to_the_sources_frames(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, out = made(SOURCES[kind], tmp_path), tmp_path / "out.mp4"
    frames = media.ffmpeg_framemd5(path)
    with tricodec.FrameReader(path, device="cpu") as reader:
        start = float(reader.pts_seconds[60])
        key = max(number for number in reader.key_frames if number <= 60)

    result = tricodec.transcode(path, out, codec="copy", start=start)

    assert media.ffmpeg_framemd5(out) == frames[key:]
    assert result.num_frames == 100 - key
    assert "is copied from its key frame" in caplog.text


PRELUDE = """
    import tricodec

    def write(*times, format="mp4", fragmented=True, data=b"\\0\\0\\0\\1\\x65abc"):
        with tricodec.Muxer(None, format=format, fragmented=fragmented) as muxer:
            muxer.add_stream(tricodec.describe_stream("mpeg4", 64, 64, time_base=(1, 25)))
            for number, time in enumerate(times):
                content = b"" if time == "empty" else data
                stamp = -(10**14) if time == "empty" else time
                muxer.write(tricodec.Packet(content, pts=stamp, dts=stamp, duration=1, key=True))
            muxer.finish()
            return muxer.getvalue()

    def write_two(first, second, fragmented):
        with tricodec.Muxer(None, format="mp4", fragmented=fragmented) as muxer:
            for _ in range(2):
                muxer.add_stream(tricodec.describe_stream("mpeg4", 64, 64, time_base=(1, 25)))
            for number, time in enumerate((first, second)):
                muxer.write(tricodec.Packet(b"abcd", pts=time, dts=time, duration=1, key=True), number)
            muxer.finish()
            return muxer.getvalue()

    def times(file):
        return [packet.dts for packet in tricodec.Demuxer(file)]
"""


def run(script: str) -> str:
    """What a process of Python prints; an abort of libavformat ends it."""
    process = with_tricodec().run_code(textwrap.dedent(PRELUDE) + textwrap.dedent(script))
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.mark.parametrize("fragmented", [False, True])
@pytest.mark.parametrize("stamps", ["0, 1, 1 << 40", "0, -(1 << 31), 1", "None, None, 1 << 50"])
def test_a_time_that_mp4_cannot_store_is_refused(stamps: str, fragmented: bool) -> None:
    printed = run(
        f"""
        try:
            write({stamps}, format={"mp4"!r}, fragmented={fragmented})
        except ValueError as error:
            print(error)
        """
    )

    assert "2^31 units" in printed


def test_times_near_the_bound_are_written() -> None:
    printed = run("print(times(write(0, 100_000, 200_000)))")

    assert printed == "[0, 51200000, 102400000]\n"  # in units of 1/12800 s


@pytest.mark.parametrize("fragmented", [False, True])
def test_a_packet_without_times_follows_the_one_before(fragmented: bool) -> None:
    printed = run(f"print(len(times(write(0, None, 2, None, fragmented={fragmented}))))")

    assert printed == "4\n"


def test_other_containers_take_any_step() -> None:
    printed = run("print(times(write(0, 1 << 33, format='nut', fragmented=False))[-1] > 0)")

    assert printed == "True\n"
