# SPDX-License-Identifier: Apache-2.0
"""`tricodec frames`: pictures, bytes or checksums of a video's frames."""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import tricodec
from tricodec._tricodec import OutputFile
from tricodec.cli.inputs import Input, Kept, check_target, inputs_of, output_of, run_each
from tricodec.cli.output_files import is_there, refuse_existing
from tricodec.cli.shared import (
    SIZE,
    SIZE_HELP,
    STDIO,
    add_force,
    counted,
    full_size,
    parse_size,
    refuse_own_source,
    say,
    shown_target,
    to_source,
    warn_of_damage,
)
from tricodec.options import SELECTION_OPTIONS, Option
from tricodec.show.pictures import compose, encode_png, evenly_spaced, thumbnail_size, write_png
from tricodec.show.progress import Progress


def _list_of(kind: type[Any]) -> Any:
    def convert(text: str) -> list[Any]:
        try:
            return [kind(part) for part in text.split(",") if part.strip()]
        except ValueError:
            message = f"{text!r} is not a list of numbers with commas between"
            raise argparse.ArgumentTypeError(message) from None

    return convert


_SHEET_FRAMES = 16
_FLAGS = {"start_s": "--start", "end_s": "--end", "start": "--first", "tolerance_s": "--tolerance"}
#: By the type of an option: how its text is read, and how the help shows it.
_KINDS: dict[str, tuple[Any, str]] = {
    "whole": (int, "N"),
    "number": (float, "X"),
    "text": (lambda text: text.lower().replace("-", "_"), "NAME"),
    "wholes": (_list_of(int), "N,..."),
    "numbers": (_list_of(float), "X,..."),
}

_DESCRIPTION = """
Extract frames. Without an output option they become PNG files in a folder named after FILE, upright and in RGB.
-o names where they go: the folder of the pictures, or the file of --raw, --contact-sheet, --md5 and --framemd5. With
several FILEs it names a folder, which gets a folder or a file for each.
"""


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Adds the sub-command."""
    parser = commands.add_parser(
        "frames", parents=[common], help="extract frames or their checksums", description=_DESCRIPTION
    )
    parser.add_argument(
        "files", metavar="FILE", nargs="+",
        help="a video, a folder of videos, - for standard input, or a URL (s3, gs, az, https, hf)",
    )  # fmt: skip
    for name, option in SELECTION_OPTIONS.items():
        _add_option(parser, name, option)
    parser.add_argument("--size", type=parse_size, metavar=SIZE, help=SIZE_HELP)
    parser.add_argument("--stream", type=int, default=-1, metavar="N", help="stream number (default: the best video)")
    parser.add_argument("--ignore-edit-list", action="store_true", help="include frames that the container hides")
    parser.add_argument("-o", "--output", metavar="PATH", help="where the result goes; - is standard output")
    add_force(parser, can_resume=True)
    output = parser.add_mutually_exclusive_group()
    output.add_argument(
        "--raw", nargs="?", const="", metavar="PATH",
        help="write all frames to one file: as they were coded, or RGB with --size; PATH is -o",
    )  # fmt: skip
    output.add_argument(
        "--contact-sheet", nargs="?", const="", metavar="PATH",
        help=f"small pictures of all frames chosen, or of {_SHEET_FRAMES} across the video, on one PNG; PATH is -o",
    )  # fmt: skip
    output.add_argument(
        "--md5",
        action="store_true",
        help="one MD5 over all frames: native pixel format and size, exact crop, no rotation (as ffmpeg -f rawvideo "
        "-noautorotate -noautoscale -fps_mode passthrough writes them)",
    )
    output.add_argument("--framemd5", action="store_true", help="one line for each frame with its MD5")
    parser.set_defaults(run=run, parser=parser)


def _flag(name: str) -> str:
    """The option of the command line for one of the library."""
    return _FLAGS.get(name) or "--" + name.replace("_", "-")


def _add_option(parser: argparse.ArgumentParser, name: str, option: Option) -> None:
    kind, metavar = _KINDS[option.type]
    help = re.sub(r"``(\w+)``", lambda found: _flag(found[1]), option.meaning.rstrip("."))
    if option.accepted:
        help += f": {', '.join(option.accepted)}"
    if option.default is not None:
        help += f" (default {option.default})"
    parser.add_argument(
        _flag(name),
        dest=name,
        type=kind,
        metavar=metavar,
        choices=option.accepted or None,
        help=help.replace("%", "%%"),
    )


def run(options: argparse.Namespace) -> int:
    """Writes the requested output; damage on the way is reported on standard error."""
    if (options.md5 or options.framemd5) and options.size:
        options.parser.error("--size does not go with --md5 or --framemd5, which are over native frames")
    named = options.raw or options.contact_sheet
    if named and options.output:
        options.parser.error(f"both {named} and -o {options.output} name the output; leave one out")
    options.output = options.output or named or None
    inputs = inputs_of(options.files)
    is_data = options.output is None and (options.md5 or options.framemd5)
    return run_each(options, inputs, lambda each: _extract(each, inputs, options), unit="num_frames", is_data=is_data)


def _extract(each: Input, inputs: Sequence[Input], options: argparse.Namespace) -> dict[str, Any]:
    write: Callable[..., dict[str, Any]] = _pictures
    suffix = "_frames"
    for is_asked, other, other_suffix in (
        (options.md5, _md5, ".md5"),
        (options.framemd5, _framemd5, ".framemd5"),
        (options.raw is not None, _raw, ".raw"),
        (options.contact_sheet is not None, _contact_sheet, ".png"),
    ):
        if is_asked:
            write, suffix = other, other_suffix
    stem = each.relative.with_suffix("")
    if write is _pictures:  # their folder is the one of -o itself for a single file
        output = options.output if len(inputs) == 1 else output_of(each, inputs, options.output, stem)
    else:
        output = output_of(each, inputs, options.output, stem.with_name(stem.name + suffix))
    if output is None and not (options.md5 or options.framemd5):
        output = each.relative.stem + suffix
    if output is not None and STDIO not in (output, each.name):
        refuse_own_source(each.name, output)
    if output is not None and output != STDIO:
        check_target(output, options)
    # The sums are over the stream's own pixel format, which frames of the CPU have.
    with tricodec.FrameReader(
        to_source(each.name), device="cpu", stream_index=options.stream, ignore_edit_list=options.ignore_edit_list
    ) as reader:
        size = full_size(options.size, reader.width, reader.height)
        facts = write(reader, each, output, argparse.Namespace(**{**vars(options), "size": size}))
        number, issues = reader.num_damaged_packets, reader.issues
    warn_of_damage(each.shown, number, issues[0].message if issues else "")
    return {"file": each.name, **facts, "num_damaged_packets": number}


def _selection(options: argparse.Namespace) -> dict[str, Any]:
    """The options of `decode_video` that are given."""
    return {name: value for name in SELECTION_OPTIONS if (value := getattr(options, name)) is not None}


def _chosen(
    reader: tricodec.FrameReader, each: Input, selection: dict[str, Any], label: str
) -> Iterator[tricodec.Frame]:
    """The requested frames, counted on a progress bar."""
    indices = reader.select(**selection)
    if len(indices) == 0:
        message = f"'{each.shown}' has no frame to extract; `tricodec probe` lists its streams"
        raise ValueError(message)
    with Progress(f"{each.label}: {label}", len(indices)) as progress:
        for frame in reader.iterate(**selection):
            yield frame
            progress.advance()


def _write_lines(lines: Sequence[str], output: str | None, options: argparse.Namespace) -> None:
    if output is not None and output != STDIO:
        with OutputFile(output) as file:
            file.write("".join(line + "\n" for line in lines).encode())
    elif not options.json:
        print(*lines, sep="\n")


def _is_alone(options: argparse.Namespace) -> bool:
    return len(options.files) == 1 and not Path(options.files[0]).is_dir()


def _md5(reader: tricodec.FrameReader, each: Input, output: str | None, options: argparse.Namespace) -> dict[str, Any]:
    total = hashlib.md5(usedforsecurity=False)
    count = 0
    for frame in _chosen(reader, each, _selection(options), "MD5"):
        total.update(frame.pack())
        count += 1
    _write_lines([total.hexdigest() + ("" if _is_alone(options) else f"  {each.name}")], output, options)
    return {"md5": total.hexdigest(), "num_frames": count}


_FACTS = ("index", "pts", "width", "height", "format", "bytes", "md5")


def _framemd5(
    reader: tricodec.FrameReader, each: Input, output: str | None, options: argparse.Namespace
) -> dict[str, Any]:
    rows = [
        (frame.index, frame.pts, frame.width, frame.height, frame.format, frame.size_bytes, frame.md5())
        for frame in _chosen(reader, each, _selection(options), "MD5")
    ]
    lines = ["\t".join("" if value is None else str(value) for value in row) for row in rows]
    name = [] if _is_alone(options) or output is not None else [f"# {each.name}"]
    _write_lines([*name, "#" + "\t".join(_FACTS), *lines], output, options)
    return {"frames": [dict(zip(_FACTS, row, strict=True)) for row in rows], "num_frames": len(rows)}


def _raw(reader: tricodec.FrameReader, each: Input, output: str | None, options: argparse.Namespace) -> dict[str, Any]:
    transform = tricodec.Transform(size=options.size) if options.size else None
    count = 0
    assert output is not None
    with nullcontext(sys.stdout.buffer) if output == STDIO else OutputFile(output) as file:
        for frame in _chosen(reader, each, _selection(options), "frames"):
            file.write(transform(frame).data if transform else frame.pack())
            count += 1
    return {"output": output, "num_frames": count}


def _picture(folder: Path, index: int) -> Path:
    return folder / f"{index:06d}.png"


def _pictures(
    reader: tricodec.FrameReader, each: Input, output: str | None, options: argparse.Namespace
) -> dict[str, Any]:
    if output == STDIO:
        raise ValueError("pictures go to a folder; standard output takes those of --raw and --contact-sheet")
    folder = Path(str(output))
    selection = _selection(options)
    chosen = reader.select(**selection)
    there = [index for index in chosen if is_there(_picture(folder, index))]
    if there and options.resume:
        selection = {"indices": sorted(set(chosen) - set(there))}
        if not selection["indices"]:
            raise Kept(folder)
    elif there:
        refuse_existing(_picture(folder, there[0]), options.force)
    folder.mkdir(parents=True, exist_ok=True)
    transform = tricodec.Transform(size=options.size)
    count = 0
    for frame in _chosen(reader, each, selection, "PNG files"):
        write_png(_picture(folder, frame.index), transform(frame))
        count += 1
    say(options, f"wrote {counted(count, 'PNG file')} to {folder}")
    return {"output": str(folder), "num_frames": count}


def _sheet(reader: tricodec.FrameReader, name: str, options: argparse.Namespace) -> tuple[Any, int]:
    """The contact sheet, uint8 [H, W, 3], and its number of frames."""
    selection = _selection(options)
    indices = reader.select(**selection) if selection else evenly_spaced(len(reader), _SHEET_FRAMES)
    if not indices:
        message = f"{name} has no frames to put on a contact sheet"
        raise ValueError(message)
    size = options.size or thumbnail_size(reader[indices[0]])
    return compose(reader.batch(indices, size=size)), len(indices)


def _contact_sheet(
    reader: tricodec.FrameReader, each: Input, output: str | None, options: argparse.Namespace
) -> dict[str, Any]:
    sheet, count = _sheet(reader, each.shown, options)
    if output == STDIO:
        sys.stdout.buffer.write(encode_png(sheet))
    else:
        write_png(str(output), sheet)
    height, width = sheet.shape[:2]
    say(options, f"wrote {counted(count, 'frame')} on {width}x{height} pixels to {shown_target(str(output))}")
    return {"output": output, "num_frames": count, "width": width, "height": height}
