# SPDX-License-Identifier: Apache-2.0
"""The table of generated test clips: what each is for and the ffmpeg command line that makes it.

An argument "@name" stands for another clip of the table. Encoders run on one thread and with bitexact flags, so that a
clip is the same on every run of one ffmpeg version.
"""

from __future__ import annotations

import dataclasses
import re
import struct
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How one clip is made.

    Attributes:
        why: what the clip is there to show.
        args: ffmpeg arguments between the global options and the output file; empty where `edit` alone makes the clip.
        bases: clips; `edit` gets their bytes.
        edit: makes the file from the bytes of `bases`.
        two_pass: whether the encoder analyses the whole input first.
    """

    why: str
    args: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    edit: Callable[..., bytes] | None = None
    two_pass: bool = False


def _source(size: str = "320x180", seconds: float = 2, rate: str = "25", pattern: str = "testsrc2") -> tuple[str, ...]:
    return ("-f", "lavfi", "-i", f"{pattern}=size={size}:rate={rate}", "-t", str(seconds))


_ODD = ("-vf", "scale=321:181")  # testsrc2 itself makes even sizes only


def _x264(options: str = "", pix_fmt: str = "yuv420p") -> tuple[str, ...]:
    params = "keyint=12:min-keyint=12:scenecut=0:bframes=3:b-adapt=0" + (f":{options}" if options else "")
    codec = f"-c:v libx264 -preset veryfast -crf 28 -threads 1 -pix_fmt {pix_fmt} -x264-params {params}"
    return tuple(codec.split())


def _x265(options: str = "", pix_fmt: str = "yuv420p") -> tuple[str, ...]:
    params = "keyint=12:min-keyint=12:scenecut=0:bframes=3:pools=1:frame-threads=1:log-level=error"
    codec = f"-c:v libx265 -preset ultrafast -crf 30 -pix_fmt {pix_fmt} -x265-params {params}"
    return tuple((codec + (f":{options}" if options else "")).split())


_VP8 = tuple("-c:v libvpx -b:v 300k -deadline good -cpu-used 5 -threads 1 -g 20".split())
_VP9 = tuple("-c:v libvpx-vp9 -b:v 300k -deadline good -cpu-used 5 -threads 1 -g 20".split())
_ALT_REF = tuple("-auto-alt-ref 1 -lag-in-frames 16".split())  # libvpx makes them in two passes only
_AV1 = tuple("-c:v libsvtav1 -preset 10 -crf 45 -g 16 -pix_fmt yuv420p".split())
_BT709 = (  # as ffmpeg 7 chooses it, from the pictures, and as those before it did
    *("-vf", "setparams=colorspace=bt709:color_primaries=bt709:color_trc=bt709:range=tv"),
    *"-colorspace bt709 -color_primaries bt709 -color_trc bt709 -color_range tv".split(),
)
_SINE = tuple("-f lavfi -i sine=frequency=440:sample_rate=48000 -t 2 -c:a aac -b:a 64k".split())


def rotate_mp4(data: bytes, *, clockwise: int = 0, mirrored: bool = False) -> bytes:
    """Writes a display matrix into the first track header of an MP4 file (ISO/IEC 14496-12, 8.3.2)."""
    cos, sin = {0: (1, 0), 90: (0, 1), 180: (-1, 0), 270: (0, -1)}[clockwise]
    flip = -1 if mirrored else 1  # the picture is mirrored left to right before it is turned
    matrix = struct.pack(">9i", flip * cos << 16, flip * sin << 16, 0, -sin << 16, cos << 16, 0, 0, 0, 1 << 30)
    start = data.index(b"tkhd") + 4
    start += 36 + 4 if data[start] == 0 else 48 + 4
    return data[:start] + matrix + data[start + 36 :]


def truncate(data: bytes, part: float = 0.6) -> bytes:
    """Keeps the first part of a file."""
    return data[: int(len(data) * part)]


def zero(data: bytes, size: int = 400) -> bytes:
    """Overwrites bytes in the middle of a file."""
    middle = len(data) // 2
    return data[:middle] + bytes(size) + data[middle + size :]


def flip_bits(data: bytes, every: int = 997) -> bytes:
    """Damages bytes throughout a file except its first kilobyte."""
    damaged = bytearray(data)
    for position in range(1024, len(damaged), every):
        damaged[position] ^= 0x55
    return bytes(damaged)


def concatenate(*parts: bytes) -> bytes:
    """Appends elementary streams."""
    return b"".join(parts)


def ivf_packets(data: bytes) -> list[bytes]:
    """The packets of an IVF file."""
    packets = []
    at = 32
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at)
        packets.append(data[at + 12 : at + 12 + size])
        at += 12 + size
    return packets


def write_ivf(header: bytes, packets: list[bytes]) -> bytes:
    """An IVF file with the facts of another's header; packet i is shown at time i."""
    frames = (struct.pack("<IQ", len(packet), number) + packet for number, packet in enumerate(packets))
    return header[:24] + struct.pack("<I", len(packets)) + header[28:32] + b"".join(frames)


def vp9_superframe(*frames: bytes) -> bytes:
    """Frames of VP9 in one packet, with the index of their sizes (annex B of the specification)."""
    marker = bytes([0xC0 | 3 << 3 | len(frames) - 1])
    return b"".join(frames) + marker + b"".join(struct.pack("<I", len(frame)) for frame in frames) + marker


def split_vp9(packet: bytes) -> list[bytes]:
    """The frames of a VP9 packet."""
    marker = packet[-1]
    count, width = (marker & 7) + 1, (marker >> 3 & 3) + 1
    index = 2 + count * width
    if marker & 0xE0 != 0xC0 or packet[-index] != marker:
        return [packet]
    sizes = packet[-index + 1 : -1]
    frames = []
    for number in range(count):
        size = int.from_bytes(sizes[number * width : (number + 1) * width], "little")
        frames.append(packet[:size])
        packet = packet[size:]
    return frames


def show_vp9_again(data: bytes) -> bytes:
    """Puts frames into an IVF file that only show a slot's picture (show_existing_frame), by themselves and hidden
    pictures' at once in one superframe."""
    packets: list[bytes] = []
    for number, packet in enumerate(ivf_packets(data)):
        frames = split_vp9(packet)
        if len(frames) > 1 and number > 20:
            packets += [vp9_superframe(frames[0], bytes([0x88 | 2])), *frames[1:]]
        elif len(frames) > 1 and number > 10:
            packets += frames  # hidden in a packet of its own
        else:
            packets.append(packet)
        if number % 4 == 3:
            packets.append(bytes([0x88 | number // 4 % 8]))
        if number % 9 == 8:
            packets.append(bytes([0x88 | number // 9 % 3, 0]))  # with a byte of padding
    return write_ivf(data, packets)


def drop_first_pictures(data: bytes, count: int = 3) -> bytes:
    """Removes the first slices of an H.264 byte stream but keeps its parameter sets: it starts in mid-GOP."""
    units = [b"\x00\x00\x01" + unit for unit in re.split(rb"\x00?\x00\x00\x01", data)[1:]]
    slices = [index for index, unit in enumerate(units) if unit[3] & 31 in (1, 5)]
    dropped = set(slices[:count])
    return b"".join(unit for index, unit in enumerate(units) if index not in dropped)


def _copy(base: str, *options: str) -> tuple[str, ...]:
    return ("-i", f"@{base}", *options, "-map", "0:v:0", "-c", "copy")


RECIPES: dict[str, Recipe] = {
    # H.264: how frames are ordered, cut and numbered
    "h264_bframes.mp4": Recipe("B-frames and five closed GOPs: the plain case", (*_source(), *_x264())),
    "h264_nob.mp4": Recipe("no B-frames: decode order is presentation order", (*_source(), *_x264("bframes=0"))),
    "h264_open_gop.mkv": Recipe(
        "leading pictures refer to the GOP before", (*_source(), *_x264("open-gop=1:b-pyramid=normal"))
    ),
    "h264_one_gop.mp4": Recipe("one key frame only", (*_source(), *_x264("keyint=infinite"))),
    "h264_intra_only.mp4": Recipe("every frame is a key frame", (*_source(seconds=1), *_x264("keyint=1"))),
    "h264.ts": Recipe("MPEG-TS, parameter sets in the stream", (*_source(), *_x264())),
    "h264_missing_first_key.ts": Recipe(
        "starts in mid-GOP: what precedes the first key frame cannot be decoded",
        ("-i", "@h264.ts", "-ss", "0.2", "-copyinkf", "-c", "copy"),
    ),
    "h264_missing_first_key.h264": Recipe(
        "parameter sets, then the middle of a GOP", bases=("h264_raw.h264",), edit=drop_first_pictures
    ),
    "h264_nonzero_start.mp4": Recipe(
        "an empty edit delays the first frame", (*_copy("h264_bframes.mp4"), "-output_ts_offset", "5")
    ),
    "h264_nonzero_start.mkv": Recipe(
        "time stamps start at 5 s", (*_copy("h264_bframes.mp4"), "-output_ts_offset", "5")
    ),
    "h264_edit_list.mp4": Recipe(
        "the edit list hides the frames before 0.7 s", ("-ss", "0.7", *_copy("h264_bframes.mp4"))
    ),
    "h264_vfr.mkv": Recipe(
        "uneven frame durations",
        (*_source(seconds=3), "-vf", "select=lt(mod(n\\,7)\\,3)", "-fps_mode", "passthrough", *_x264()),
    ),
    "h264_raw.h264": Recipe("Annex B byte stream without a container", (*_source(), *_x264())),
    "h264_mbaff.ts": Recipe(
        "interlaced (x264 codes it as macroblock-adaptive frames)",
        (*_source("320x192"), "-flags", "+ilme+ildct", *_x264("tff=1")),
    ),
    "h264_intra_refresh.mp4": Recipe(
        "periodic intra refresh: recovery points, one IDR", (*_source(), *_x264("intra-refresh=1:bframes=0"))
    ),
    "h264_many_slices.mp4": Recipe("240 slices a picture", (*_source(seconds=1), *_x264("slice-max-mbs=1"))),
    "h264_audio.mp4": Recipe(
        "an audio track beside the video",
        (*_source(), *_SINE, *_x264()),
    ),
    "h264_two_videos.mkv": Recipe(
        "two video streams of different sizes",
        (*_source("160x120"), *_source(pattern="mandelbrot"), *"-map 0:v -map 1:v -t 2".split(), *_x264()),
    ),
    "h264.avi": Recipe("AVI with B-frames: no presentation time stamps", (*_source(), *_x264())),
    "h264_fragmented.mp4": Recipe(
        "fragmented MP4", (*_copy("h264_bframes.mp4"), "-movflags", "frag_keyframe+empty_moov")
    ),
    "h264_faststart.mp4": Recipe("index first", (*_copy("h264_bframes.mp4"), "-movflags", "+faststart")),
    # H.264: sample formats, sizes, colour, orientation
    "h264_422_10.mkv": Recipe("4:2:2, 10 bit", (*_source(), *_x264(pix_fmt="yuv422p10le"))),
    "h264_420_10.mkv": Recipe("4:2:0, 10 bit", (*_source(), *_x264(pix_fmt="yuv420p10le"))),
    "h264_422.mp4": Recipe("4:2:2, 8 bit", (*_source(), *_x264(pix_fmt="yuv422p"))),
    "h264_444.mp4": Recipe("4:4:4, 8 bit", (*_source(), *_x264(pix_fmt="yuv444p"))),
    "h264_rgb.mkv": Recipe(
        "GBR coded", (*_source(), *"-c:v libx264rgb -preset veryfast -threads 1 -pix_fmt rgb24".split())
    ),
    "gray.mkv": Recipe("coded 4:0:0, which libavcodec gives as 4:2:0", (*_source(), *_x264(pix_fmt="gray"))),
    "h264_318x178.mp4": Recipe("cropped from whole macroblocks", (*_source("318x178"), *_x264())),
    "h264_cropped.mp4": Recipe(
        "cropped at all sides, at the left by what no SIMD alignment divides",
        (*_copy("h264_bframes.mp4"), "-bsf:v", "h264_metadata=crop_left=26:crop_right=14:crop_top=10:crop_bottom=62"),
    ),
    "h264_16x16.mp4": Recipe("one macroblock", (*_source("16x16", 1), *_x264())),
    "h264_444_odd.mkv": Recipe("odd size without subsampling", (*_source(), *_ODD, *_x264(pix_fmt="yuv444p"))),
    "h264_rot90.mp4": Recipe(
        "to be shown turned 90 degrees clockwise",
        bases=("h264_bframes.mp4",),
        edit=lambda data: rotate_mp4(data, clockwise=90),
    ),
    "h264_rot180.mp4": Recipe(
        "to be shown upside down", bases=("h264_bframes.mp4",), edit=lambda data: rotate_mp4(data, clockwise=180)
    ),
    "h264_rot270.mp4": Recipe(
        "to be shown turned 270 degrees clockwise",
        bases=("h264_bframes.mp4",),
        edit=lambda data: rotate_mp4(data, clockwise=270),
    ),
    "h264_mirrored.mp4": Recipe(
        "to be shown mirrored", bases=("h264_bframes.mp4",), edit=lambda data: rotate_mp4(data, mirrored=True)
    ),
    "h264_small_raw.h264": Recipe("second part of the size change", (*_source("160x96", 1), *_x264())),
    "h264_size_change.h264": Recipe(
        "the picture size changes in mid-stream",
        bases=("h264_raw.h264", "h264_small_raw.h264", "h264_raw.h264"),
        edit=concatenate,
    ),
    "full_range.mp4": Recipe("full range samples", (*_source(), *_x264(pix_fmt="yuvj420p"), "-color_range", "pc")),
    "bt709.mp4": Recipe("tagged BT.709, limited range", (*_source(), *_x264(), *_BT709)),
    # HEVC
    "hevc.mp4": Recipe("HEVC, closed GOPs", (*_source(), *_x265("open-gop=0"), "-tag:v", "hvc1")),
    "hevc_open_gop.mkv": Recipe("CRA pictures with leading pictures", (*_source(), *_x265("open-gop=1"))),
    "hevc_layers.mkv": Recipe(
        "two temporal layers; the upper one is referred to by nothing", (*_source(), *_x265("temporal-layers=1"))
    ),
    "hevc10.mkv": Recipe("10 bit", (*_source(), *_x265(pix_fmt="yuv420p10le"))),
    "hevc_444_12.mkv": Recipe("4:4:4, 12 bit", (*_source(seconds=1), *_x265(pix_fmt="yuv444p12le"))),
    "hevc_cropped.mkv": Recipe(
        "a conformance window with all four offsets",
        (*_copy("hevc_open_gop.mkv"), "-bsf:v", "hevc_metadata=crop_left=22:crop_right=4:crop_top=2:crop_bottom=38"),
    ),
    "hevc_gray.mkv": Recipe("luma only", (*_source(seconds=1), *_x265(pix_fmt="gray"))),
    "hevc_raw.hevc": Recipe("Annex B byte stream without a container", (*_source(), *_x265("open-gop=0"))),
    "hevc.ts": Recipe("HEVC in MPEG-TS", (*_source(), *_x265())),
    # VP8, VP9, AV1
    "vp8.webm": Recipe(
        "alternate reference frames, which are not shown", (*_source(), *_VP8, *_ALT_REF), two_pass=True
    ),
    "vp9.webm": Recipe("alternate reference frames in superframes", (*_source(), *_VP9, *_ALT_REF), two_pass=True),
    "vp9_odd.webm": Recipe("odd width and height, 4:2:0", (*_source(), *_ODD, *_VP9, "-pix_fmt", "yuv420p")),
    "vp9_numbers.webm": Recipe(
        "lossless and gray, each picture unlike all others: DALI's own decoder gives the same bytes, or nearly",
        (
            *("-f", "lavfi", "-i", "nullsrc=size=160x120:rate=25", "-t", "1"),
            *("-vf", "format=yuv420p,geq=lum='16+mod(X+3*Y+29*N,220)':cb=128:cr=128"),
            *"-c:v libvpx-vp9 -lossless 1 -cpu-used 5 -threads 1 -g 10".split(),
        ),
    ),
    "vp9.ivf": Recipe("IVF", (*_source(), *_VP9, *_ALT_REF), two_pass=True),
    "vp9_shown_again.ivf": Recipe(
        "packets that only show an earlier picture again, hidden or not", bases=("vp9.ivf",), edit=show_vp9_again
    ),
    "vp9_shown_again.webm": Recipe("the same in WebM", _copy("vp9_shown_again.ivf")),
    "av1.mp4": Recipe("AV1", (*_source(), *_AV1)),
    "av1_lerobot.mp4": Recipe(
        "as LeRobot writes datasets: a key frame at every second frame",
        (
            *_source(size="96x96", seconds=4, rate="30"),
            *"-c:v libsvtav1 -preset 12 -crf 45 -g 2 -pix_fmt yuv420p".split(),
        ),
    ),
    "hevc_lerobot.mp4": Recipe(
        "the same in HEVC",
        (*_source(size="96x96", seconds=4, rate="30"), *"-c:v libx265 -x265-params keyint=2:log-level=none".split()),
    ),
    "av1.ivf": Recipe("IVF", _copy("av1.mp4")),
    "av1.mkv": Recipe("Matroska", _copy("av1.mp4")),
    "av1_raw.obu": Recipe("low-overhead OBU stream without a container", (*_copy("av1.mp4"), "-f", "obu")),
    "av1_10.mkv": Recipe("10 bit", (*_source(seconds=1), *_AV1[:-1], "yuv420p10le")),
    # MPEG-1, -2, -4, MJPEG
    "mpeg1.mpg": Recipe("program stream", (*_source(), "-c:v", "mpeg1video", "-bf", "2", "-threads", "1")),
    "mpeg2.ts": Recipe("MPEG-2 with B-frames", (*_source(), "-c:v", "mpeg2video", "-bf", "2", "-threads", "1")),
    "mpeg4.avi": Recipe("B-frames in AVI", (*_source(), "-c:v", "mpeg4", "-bf", "2", "-threads", "1")),
    "n_vops.avi": Recipe("packets that show a frame again", (*_source(), "-c:v", "libxvid", "-bf", "2")),
    "h263.avi": Recipe("every packet is flagged as a key frame", (*_source("176x144"), "-c:v", "h263")),
    "h264_open.mxf": Recipe("presentation times are decoding times", (*_source(), *_x264("open-gop=1"))),
    "mpeg4.mp4": Recipe("headers in the container", (*_source(), "-c:v", "mpeg4", "-bf", "2", "-threads", "1")),
    "mjpeg.avi": Recipe("intra only, full range", (*_source(), "-c:v", "mjpeg", "-pix_fmt", "yuvj420p", "-q:v", "4")),
    "mjpeg_444.mkv": Recipe("4:4:4", (*_source(), "-c:v", "mjpeg", "-pix_fmt", "yuvj444p", "-q:v", "4")),
    # Damage
    "truncated.mp4": Recipe("the index at the end is lost", bases=("h264_bframes.mp4",), edit=truncate),
    "truncated_faststart.mp4": Recipe(
        "the index promises more than the file has", bases=("h264_faststart.mp4",), edit=truncate
    ),
    "truncated.mkv": Recipe("the last clusters are lost", bases=("h264_open_gop.mkv",), edit=truncate),
    "zeroed.mp4": Recipe("400 zero bytes in mid-file", bases=("h264_faststart.mp4",), edit=zero),
    "zeroed.h264": Recipe("400 zero bytes in mid-file", bases=("h264_raw.h264",), edit=zero),
    "flipped.ts": Recipe("a byte in a thousand is wrong", bases=("h264.ts",), edit=flip_bits),
    "audio_only.m4a": Recipe("no video at all", _SINE),
    # Size is the point
    "h264_1080p.mp4": Recipe(
        "1920x1080, with a coded height of 1088; for benchmarks",
        (*_source("1920x1080", 4, "30"), *"-c:v libx264 -preset veryfast -threads 1 -g 30 -pix_fmt yuv420p".split()),
    ),
}
