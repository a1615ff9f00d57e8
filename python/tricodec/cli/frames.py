# SPDX-License-Identifier: Apache-2.0
"""`tricodec frames`: pictures, bytes or checksums of a video's frames."""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import tricodec
from tricodec._tricodec import OutputFile
from tricodec.cli import shared
from tricodec.cli.inputs import Input, Kept, is_there, refuse_existing, run_each, target_of
from tricodec.options import SELECTION_OPTIONS, TRANSFORM_OPTIONS, Option
from tricodec.show import Progress
from tricodec.show.pictures import SHEET_FRAMES, compose, encode_png, evenly_spaced, thumbnail_size, write_png

_FLAGS = {"start_s": "--start", "end_s": "--end", "start": "--first", "tolerance_s": "--tolerance"}
#: By the type of an option: how its text is read, and how the help shows it.
_KINDS: dict[str, tuple[Any, str]] = {
    "whole": (int, "N"),
    "number": (float, "X"),
    "text": (str, "NAME"),
    "wholes": (shared.list_of(int), "N,..."),
    "numbers": (shared.list_of(float), "X,..."),
    "time": (shared.parse_time, "TIME"),
    "times": (shared.list_of(shared.parse_time), "TIME,..."),
}
_OF_TENSORS = ("dtype", "layout", "scale", "mean", "std")
_COLORS_OF_PICTURES = ("rgb", "gray")

_EXAMPLES = (
    "tricodec frames video.mp4 --fps 1 -o pictures/",
    "tricodec frames video.mp4 --times 0.5,0:02.25 --size 320x-2 --crop 0 0 720 720 -o two/",
    "tricodec frames videos/ --contact-sheet -o sheets/",
    "tricodec frames video.mp4 --num-frames 8 --size 224x224 --dtype float32 --layout CHW --raw -o frames.f32",
    "tricodec frames video.mp4 --start 2 --end 0:03 --md5",
)


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = shared.add_command(
        commands, [common], "frames", run,
        "Extract frames or their checksums. The frames become PNG files in a folder named after FILE, or what an "
        "option of the group \"output\" names. The options that choose and transform frames are those of decode_video.",
        _EXAMPLES,
    )  # fmt: skip
    shared.add_options(parser, "files", "--stream")
    parser.add_argument("--device", default="cpu", help="the device that decodes: cpu (default), auto, cuda, cuda:N")
    parser.add_argument("--workers", dest="num_workers", type=int, default=0, metavar="N", help="decoders of a file")
    parser.add_argument("--ignore-edit-list", action="store_true", help="include frames that the container hides")
    _add_table(parser.add_argument_group("which frames"), SELECTION_OPTIONS)
    transform = parser.add_argument_group("size, color and type")
    shared.add_options(transform, "--size", "--crop")
    _add_table(transform, {name: TRANSFORM_OPTIONS[name] for name in TRANSFORM_OPTIONS if name not in ("size", "crop")})
    output = parser.add_argument_group("output")
    output.add_argument(
        "-o", "--output", metavar="PATH",
        help="the folder of the PNG files, or the file of the options below; for several FILEs a folder with a result "
        "for each; - is standard output",
    )  # fmt: skip
    shared.add_force(output)
    kinds = output.add_mutually_exclusive_group()
    for name, help in (
        ("raw", "all frames in one file: as they were coded, or as arrays with an option of size, color and type"),
        ("contact_sheet", f"small pictures of the chosen frames, or of {SHEET_FRAMES} across the video, in one PNG"),
        ("md5", "one MD5 of all frames as they were coded, as of ffmpeg -noautorotate -fps_mode passthrough -f md5"),
        ("framemd5", "a line with an MD5 for each frame"),
    ):
        kinds.add_argument(_flag(name), dest="kind", action="store_const", const=name, default="pictures", help=help)


def _flag(name: str) -> str:
    """The option of the command line for one of the library."""
    return _FLAGS.get(name) or "--" + name.replace("_", "-")


def _add_table(group: Any, table: Mapping[str, Option]) -> None:
    for name, option in table.items():
        meaning = re.sub(r"(?<!\.)\.$", "", option.meaning).replace("%", "%%")
        help = re.sub(r"``(\w+)``", lambda found: _flag(found[1]), meaning)
        if option.type == "flag":
            group.add_argument(_flag(name), action=argparse.BooleanOptionalAction, default=None, help=help)
            continue
        kind, metavar = _KINDS["times" if name == "times" else "time" if name.endswith("_s") else option.type]
        if option.accepted:
            help += f": {', '.join(option.accepted)}"
        if option.default is not None:
            help += f" (default {option.default})"
        choices = option.accepted or None
        group.add_argument(_flag(name), dest=name, type=kind, metavar=metavar, choices=choices, help=help)


def run(options: argparse.Namespace) -> int:
    """Writes the requested output; damage on the way is reported on standard error."""
    transform = _given(options, TRANSFORM_OPTIONS)
    if transform and options.kind in ("md5", "framemd5"):
        options.parser.error(f"{_flag(next(iter(transform)))} does not go with --md5 or --framemd5: MD5s are of the "
                             "frames as they were coded")  # fmt: skip
    if options.kind in ("pictures", "contact_sheet"):
        for name in _OF_TENSORS:
            if name in transform:
                options.parser.error(f"{_flag(name)} does not go with PNG files; --raw writes arrays of any type")
        if transform.get("color", "rgb") not in _COLORS_OF_PICTURES:
            options.parser.error(
                f"--color {options.color} does not go with PNG files, which have {', '.join(_COLORS_OF_PICTURES)}; "
                "--raw writes arrays of any color"
            )
    return run_each(options, _extract, "num_frames")


def _extract(each: Input, options: argparse.Namespace) -> dict[str, Any]:
    write, suffix = _WRITERS[options.kind]
    is_pictures, stem = options.kind == "pictures", each.relative.with_suffix("")
    output = options.output
    if output and is_pictures and each.place:
        output = target_of(each, options, stem)
    elif not (output and is_pictures) and (output or options.kind not in ("md5", "framemd5")):
        output = target_of(each, options, stem.with_name(stem.name + suffix))
    transform = _given(options, TRANSFORM_OPTIONS)
    is_coded = not transform and options.kind in ("raw", "md5", "framemd5")
    # Frames as they were coded have the stream's own pixel format on the CPU.
    with tricodec.FrameReader(
        shared.to_source(each.name), device="cpu" if is_coded else options.device, stream_index=options.stream_index,
        num_workers=options.num_workers, ignore_edit_list=options.ignore_edit_list,
    ) as reader:  # fmt: skip
        if options.size:
            height, width = options.crop[2:] if options.crop else (reader.height, reader.width)
            transform["size"] = shared.full_size(options.size, width, height)
        facts = write(_Job(reader, each, output, options, _given(options, SELECTION_OPTIONS), transform))
        number, issues = reader.num_damaged_packets, reader.issues
    shared.warn_of_damage(each.shown, number, issues[0].message if issues else "")
    return {"file": each.name, **facts, "num_damaged_packets": number}


def _given(options: argparse.Namespace, table: Mapping[str, Option]) -> dict[str, Any]:
    """The options of `decode_video` that are given."""
    return {name: value for name in table if (value := getattr(options, name)) is not None}


class _Job(NamedTuple):
    """What a writer of frames gets."""

    reader: tricodec.FrameReader
    input: Input
    output: Any
    options: argparse.Namespace
    selection: dict[str, Any]
    transform: dict[str, Any]

    def frames(self, label: str) -> Iterator[tricodec.Frame]:
        """The requested frames, counted on a progress bar."""
        indices = self.reader.select(**self.selection)
        if len(indices) == 0:
            raise ValueError(f"'{self.input.shown}' has no frame to extract; `tricodec probe` lists its streams")
        with Progress(f"{self.input.label}: {label}", len(indices)) as progress:
            for frame in self.reader.iterate(**self.selection):
                yield frame
                progress.advance()


def _write_lines(lines: Sequence[str], job: _Job) -> None:
    if job.output is not None and job.output != shared.STDIO:
        with OutputFile(job.output) as file:
            file.write("".join(line + "\n" for line in lines).encode())
    elif not job.options.json:
        print(*lines, sep="\n")


def _is_alone(options: argparse.Namespace) -> bool:
    return len(options.files) == 1 and not Path(options.files[0]).is_dir()


def _md5(job: _Job) -> dict[str, Any]:
    total = hashlib.md5(usedforsecurity=False)
    count = 0
    for frame in job.frames("MD5"):
        total.update(frame.pack())
        count += 1
    _write_lines([total.hexdigest() + ("" if _is_alone(job.options) else f"  {job.input.name}")], job)
    return {"md5": total.hexdigest(), "num_frames": count}


_FACTS = ("index", "pts", "width", "height", "format", "bytes", "md5")


def _framemd5(job: _Job) -> dict[str, Any]:
    rows = [
        (frame.index, frame.pts, frame.width, frame.height, frame.format, frame.size_bytes, frame.md5())
        for frame in job.frames("MD5")
    ]
    lines = ["\t".join("" if value is None else str(value) for value in row) for row in rows]
    name = [] if _is_alone(job.options) or job.output is not None else [f"# {job.input.name}"]
    _write_lines([*name, "#" + "\t".join(_FACTS), *lines], job)
    return {"frames": [dict(zip(_FACTS, row, strict=True)) for row in rows], "num_frames": len(rows)}


def _raw(job: _Job) -> dict[str, Any]:
    convert = tricodec.Transform(**job.transform) if job.transform else None
    count = 0
    with nullcontext(sys.stdout.buffer) if job.output == shared.STDIO else OutputFile(job.output) as file:
        for frame in job.frames("frames"):
            file.write(tricodec.asnumpy(convert(frame)).tobytes() if convert else frame.pack())
            count += 1
    return {"output": job.output, "num_frames": count}


def _picture(folder: Path, index: int) -> Path:
    return folder / f"{index:06d}.png"


def _pictures(job: _Job) -> dict[str, Any]:
    if job.output == shared.STDIO:
        raise ValueError("pictures go to a folder; --raw and --contact-sheet write to standard output")
    folder = Path(job.output)
    if folder.is_file():
        raise ValueError(f"'{folder}' is a file, and pictures go to a folder; name another one with -o")
    chosen = job.reader.select(**job.selection)
    there = [index for index in chosen if is_there(_picture(folder, index))]
    if there and job.options.resume:
        missing = sorted(set(chosen) - set(there))
        if not missing:
            raise Kept(folder)
        job = job._replace(selection={"indices": missing})
    elif there:
        refuse_existing(_picture(folder, there[0]), job.options.force)
    folder.mkdir(parents=True, exist_ok=True)
    convert = tricodec.Transform(**job.transform)
    count = 0
    for frame in job.frames("PNG files"):
        write_png(_picture(folder, frame.index), convert(frame))
        count += 1
    shared.say(job.options, f"wrote {shared.counted(count, 'PNG file')} to {folder}")
    return {"output": str(folder), "num_frames": count}


def _contact_sheet(job: _Job) -> dict[str, Any]:
    reader = job.reader
    indices = reader.select(**job.selection) if job.selection else evenly_spaced(len(reader), SHEET_FRAMES)
    if not indices:
        raise ValueError(f"'{job.input.shown}' has no frame for a contact sheet; `tricodec probe` lists its streams")
    sheet = compose(reader.batch(indices, **{"size": thumbnail_size(reader[indices[0]]), **job.transform}))
    if job.output == shared.STDIO:
        sys.stdout.buffer.write(encode_png(sheet))
    else:
        write_png(job.output, sheet)
    height, width = sheet.shape[:2]
    frames, target = shared.counted(len(indices), "frame"), shared.shown_target(job.output)
    shared.say(job.options, f"wrote {frames} on {width}x{height} pixels to {target}")
    return {"output": job.output, "num_frames": len(indices), "width": width, "height": height}


#: By the kind of the output: what writes it, and the end of its name.
_WRITERS: dict[str, tuple[Any, str]] = {
    "pictures": (_pictures, "_frames"),
    "raw": (_raw, ".raw"),
    "contact_sheet": (_contact_sheet, ".png"),
    "md5": (_md5, ".md5"),
    "framemd5": (_framemd5, ".framemd5"),
}
