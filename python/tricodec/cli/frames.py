# SPDX-License-Identifier: Apache-2.0
"""`tricodec frames`: pictures, bytes or checksums of a video's frames."""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import tricodec
from tricodec._tricodec import OutputFile
from tricodec.cli.pictures import compose, evenly_spaced, thumbnail_size, write_png
from tricodec.cli.shared import Progress, parse_size, refuse_own_source, to_source, warn_of_damage

_SHEET_FRAMES = 16

_DESCRIPTION = """
Extract frames. Without an output option they become PNG files in a folder named after FILE, upright and in RGB.
"""


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        message = f"{text!r} is not a whole number of at least 1"
        raise argparse.ArgumentTypeError(message)
    return int(text)


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Adds the sub-command."""
    parser = commands.add_parser(
        "frames", parents=[common], help="extract frames or their checksums", description=_DESCRIPTION
    )
    parser.add_argument(
        "file", metavar="FILE", help="a video file, or a URL (s3, gs, az, https, hf) that tricodec.remote() takes"
    )
    parser.add_argument(
        "--start",
        type=int,
        default=0,
        metavar="N",
        help="number of the first frame; a negative one counts from the end (default 0)",
    )
    parser.add_argument("--stride", type=_positive, default=1, metavar="N", help="every N-th frame (default 1)")
    parser.add_argument("--count", type=_positive, metavar="N", help="number of frames (default: to the end)")
    parser.add_argument("--indices", type=_list_of(int), metavar="N,...", help="numbers of the frames instead")
    parser.add_argument("--times", type=_list_of(float), metavar="S,...", help="times of the frames in seconds instead")
    parser.add_argument(
        "--tolerance", type=float, metavar="S", help="greatest distance of a time from its frame, in seconds"
    )
    parser.add_argument(
        "--policy",
        choices=("nearest", "on_screen", "exact"),
        help="which frame a time means (default: nearest for --times, on_screen for --fps)",
    )
    parser.add_argument("--fps", type=float, metavar="R", help="frames a second")
    parser.add_argument("--num-frames", type=_positive, metavar="N", help="so many frames evenly")
    parser.add_argument("--start-s", type=float, metavar="S", help="begin in seconds, instead of --start")
    parser.add_argument("--end-s", type=float, metavar="S", help="end in seconds, instead of --count")
    parser.add_argument("--sampling", metavar="RULE", help="a rule of tricodec.sampling: uniform, qwen, smolvlm, ...")
    parser.add_argument("--size", type=parse_size, metavar="HxW", help="resize to this height and width")
    parser.add_argument("--stream", type=int, default=-1, metavar="N", help="stream number (default: the best video)")
    parser.add_argument("--ignore-edit-list", action="store_true", help="include frames that the container hides")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("-o", "--output", metavar="DIR", help="write PNG files to this folder")
    output.add_argument(
        "--raw",
        metavar="FILE",
        help="write all frames to one file (- is standard output): as they were coded, or RGB with --size",
    )
    output.add_argument(
        "--contact-sheet",
        metavar="FILE.png",
        help=f"small pictures of all frames chosen, or of {_SHEET_FRAMES} across the video, on one PNG",
    )
    output.add_argument(
        "--md5",
        action="store_true",
        help="one MD5 over all frames: native pixel format and size, exact crop, no rotation (as ffmpeg -f rawvideo "
        "-noautorotate -noautoscale -fps_mode passthrough writes them)",
    )
    output.add_argument("--framemd5", action="store_true", help="one line for each frame with its MD5")
    parser.set_defaults(run=run, parser=parser)


def run(options: argparse.Namespace) -> int:
    """Writes the requested output; damage on the way is reported on standard error."""
    native = options.md5 or options.framemd5
    if native and options.size:
        options.parser.error("--size does not go with --md5 or --framemd5, which are over native frames")
    # The sums are over the stream's own pixel format, which frames of the CPU have.
    with tricodec.FrameReader(
        to_source(options.file), device="cpu", stream_index=options.stream, ignore_edit_list=options.ignore_edit_list
    ) as reader:
        if options.md5:
            _md5(reader, options)
        elif options.framemd5:
            _framemd5(reader, options)
        elif options.raw:
            _raw(reader, options)
        elif options.contact_sheet:
            _contact_sheet(reader, options)
        else:
            _pictures(reader, options)
        number, issues = reader.num_damaged_packets, reader.issues
    warn_of_damage(options.file, number, issues[0].message if issues else "")
    return 0


def _list_of(kind: type[Any]) -> Any:
    def convert(text: str) -> list[Any]:
        try:
            return [kind(part) for part in text.split(",") if part.strip()]
        except ValueError:
            message = f"{text!r} is not a list of numbers with commas between"
            raise argparse.ArgumentTypeError(message) from None

    return convert


def _words(options: argparse.Namespace) -> dict[str, Any]:
    """The words of decode_video that the options mean."""
    return {
        "start": options.start,
        "stride": options.stride,
        "count": -1 if options.count is None else options.count,
        "indices": options.indices,
        "times": options.times,
        "tolerance_s": options.tolerance,
        "policy": options.policy,
        "fps": options.fps,
        "num_frames": options.num_frames,
        "start_s": options.start_s,
        "end_s": options.end_s,
        "sampling": options.sampling,
    }


def _chosen(reader: tricodec.FrameReader, options: argparse.Namespace, label: str) -> Iterator[tricodec.Frame]:
    """The requested frames, counted on a progress bar."""
    words = _words(options)
    indices = reader.select(**words)
    if len(indices) == 0:
        message = f"'{options.file}' has no frame to extract; `tricodec probe` lists its streams"
        raise ValueError(message)
    with Progress(label, len(indices)) as progress:
        for frame in reader.iterate(**words):
            yield frame
            progress.advance()


def _md5(reader: tricodec.FrameReader, options: argparse.Namespace) -> None:
    total = hashlib.md5(usedforsecurity=False)
    for frame in _chosen(reader, options, "MD5"):
        total.update(frame.pack())
    print(total.hexdigest())


def _framemd5(reader: tricodec.FrameReader, options: argparse.Namespace) -> None:
    print("#index\tpts\twidth\theight\tformat\tbytes\tmd5")
    for frame in _chosen(reader, options, "MD5"):
        pts = "" if frame.pts is None else frame.pts
        facts = (frame.index, pts, frame.width, frame.height, frame.format, frame.size_bytes, frame.md5())
        print(*facts, sep="\t")


def _raw(reader: tricodec.FrameReader, options: argparse.Namespace) -> None:
    transform = tricodec.Transform(size=options.size) if options.size else None
    to_standard_output = options.raw == "-"
    if not to_standard_output:
        refuse_own_source(options.file, options.raw)
    with nullcontext(sys.stdout.buffer) if to_standard_output else OutputFile(options.raw) as file:
        for frame in _chosen(reader, options, "frames"):
            file.write(transform(frame).data if transform else frame.pack())


def _pictures(reader: tricodec.FrameReader, options: argparse.Namespace) -> None:
    folder = Path(options.output or Path(options.file).stem + "_frames")
    folder.mkdir(parents=True, exist_ok=True)
    transform = tricodec.Transform(size=options.size)
    count = 0
    for frame in _chosen(reader, options, "PNG files"):
        write_png(folder / f"{frame.index:06d}.png", transform(frame))
        count += 1
    print(f"wrote {count} PNG files to {folder}")


def _contact_sheet(reader: tricodec.FrameReader, options: argparse.Namespace) -> None:
    words = {name: value for name, value in _words(options).items() if value is not None}
    whole = words == {"start": 0, "stride": 1, "count": -1}
    indices = evenly_spaced(len(reader), _SHEET_FRAMES) if whole else reader.select(**words)
    if not indices:
        message = f"{options.file} has no frames to put on a contact sheet"
        raise ValueError(message)
    size = options.size or thumbnail_size(reader[indices[0]])
    sheet = compose(list(reader.batch(indices, size=size)))
    write_png(options.contact_sheet, sheet)
    print(f"wrote {len(indices)} frames on {sheet.shape[1]}x{sheet.shape[0]} pixels to {options.contact_sheet}")
