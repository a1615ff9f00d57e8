# SPDX-License-Identifier: Apache-2.0
"""Several files and folders a call: what they mean, where their results go, and how a run over all of them ends."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import errno
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any

import tricodec
from tricodec.cli import shared
from tricodec.data._locate import files_below, is_video


@dataclasses.dataclass(frozen=True)
class Input:
    """One file of a call."""

    name: str
    """A path, a URL, or "-" for standard input."""
    relative: PurePath
    """Its name below the folder that was named, or its own name."""
    twin: str | None = None
    """Another file of the call with the same relative name."""
    error: Exception | None = None
    """Why it cannot be read: a folder that may not be listed, or a pipe in a folder."""
    place: str = ""
    """Its place among several files, as "3/12 ", for progress bars; empty for the only file."""

    @property
    def label(self) -> str:
        """What a progress bar calls it."""
        return self.place + self.shown

    @property
    def shown(self) -> str:
        """How messages call it."""
        return "standard input" if self.name == shared.STDIO else self.name


def inputs_of(names: Sequence[str], accepts: Callable[[str], bool] | None = None) -> list[Input]:
    """The files that paths, URLs and "-" mean. Of a folder those below it that `accepts` takes by name, or videos."""
    found: list[Input] = []
    for name in names:
        if name == shared.STDIO:
            if len(names) > 1:
                raise ValueError("- is standard input, which is read alone; name it without other files")
            found.append(Input(name, PurePath("stdin")))
        elif not tricodec.remote.is_remote_url(name) and os.path.isdir(name):  # noqa: PTH112  # Path raises without permission
            below = files_below(str(Path(name)), accepts or is_video)
            inside = [Input(path, PurePath(path).relative_to(name), error=error) for path, error in below]
            if not inside:
                kind = "file" if accepts else "video"
                raise ValueError(f"the folder '{name}' has no {kind} in it or below; name the files themselves")
            found += inside
        else:
            found.append(Input(name, PurePath(PurePath(name.split("?")[0] if "://" in name else name).name)))
    first: dict[PurePath, str] = {}
    for number, each in enumerate(found):
        other = first.setdefault(each.relative, each.name)
        place = f"{number + 1}/{len(found)} " if len(found) > 1 else ""
        found[number] = dataclasses.replace(each, twin=other if other != each.name else None, place=place)
    return found


class Kept(Exception):
    """The result, which is there."""


def run_each(
    options: argparse.Namespace,
    work: Callable[[Input, argparse.Namespace], dict[str, Any]],
    unit: str = "",
    accepts: Callable[[str], bool] | None = None,
) -> int:
    """Works on each of `options.files`, and returns the exit status: 1 if a file failed.

    With several, a failure costs its file only, and a line on standard error counts all. `work` prints what is for
    people, and returns facts; the last line adds up the fact `unit`.
    """
    inputs = inputs_of(options.files, accepts)
    results: list[dict[str, Any]] = []
    num_failed = 0
    is_alone = len(inputs) == 1
    output = getattr(options, "output", None)
    if not is_alone and output == shared.STDIO:
        raise ValueError("-o - is standard output, which takes the result of one file; name a folder for several")
    if not is_alone and output and Path(output).exists() and not Path(output).is_dir():
        raise ValueError(f"-o {output} is a file, and there are {len(inputs)} results; name a folder")
    for number, each in enumerate(inputs):
        try:
            if each.error is not None:
                raise each.error
            with permissions_of(None if each.name == shared.STDIO else each.name):
                results.append(work(each, options))
        except Kept as kept:
            results.append({"file": each.name, "output": str(kept), "kept": True})
            shared.say(options, f"kept {kept}")
        except KeyboardInterrupt as ended:
            if not is_alone:
                ended.args = (f"{number} of {len(inputs)} files are done",)
            raise
        except (tricodec.Error, OSError, ValueError, IndexError) as error:
            if is_alone or isinstance(error, BrokenPipeError) or getattr(options, "debug", False):
                raise
            num_failed += 1
            text = shared.in_options(one_line(error), getattr(options, "option_names", {}))
            results.append({"file": each.name, "error": text})
            name = "" if f"'{each.name}'" in text else f"{each.shown}: "
            print(f"tricodec: error: {name}{text}", file=sys.stderr)
    shared.print_facts(options, results[0] if is_alone else results)
    if not is_alone and not options.json:
        text = f"total: {len(inputs)} files"
        if unit:
            count = sum(result.get(unit, 0) for result in results)
            text += f", {count} {unit.removeprefix('num_').replace('_', ' ')}"
        if num_failed:
            text += f", {num_failed} failed"
        print(text, file=sys.stderr)
    return 1 if num_failed else 0


def target_of(each: Input, options: argparse.Namespace, name: PurePath) -> str:
    """Where the result of an input goes: `output_of`, or `name` in the working folder. A result may be there."""
    output = output_of(each, options.output, name) or name.name
    if output != shared.STDIO:
        with contextlib.suppress(OSError):  # in most cases the output does not exist
            if each.name != shared.STDIO and Path(each.name).samefile(output):
                raise ValueError(f"{output} is the input itself, which would be lost; name another output")
        check_target(output, options)
    return output


def check_target(path: str, options: argparse.Namespace) -> None:
    """Ends the work of an input that has its result: a command that resumes keeps it, others refuse without --force."""
    if options.resume and is_there(path):
        raise Kept(path)
    refuse_existing(path, options.force)


def output_of(each: Input, output: str | None, name: PurePath) -> str | None:
    """Where the result of an input goes: what -o names, or the file `name` in it if it is a folder; None without -o."""
    is_folder = output is not None and (output.endswith(os.sep) or (output != shared.STDIO and Path(output).is_dir()))
    if output is None or not (each.place or is_folder):
        return output
    target = Path(output) / name
    if each.twin is not None:
        raise ValueError(f"'{each.twin}' and '{each.name}' would both become '{target}'; use two calls")
    target.parent.mkdir(parents=True, exist_ok=True)
    return str(target)


def one_line(error: BaseException) -> str:
    """The message, with the type's name if the message does not say it."""
    if isinstance(error, OSError) and error.filename is not None and not isinstance(error, tricodec.Error):
        remedy = f"; it was looked for in '{os.getcwd()}'" if error.errno == errno.ENOENT else ""  # noqa: PTH109
        return f"cannot open '{error.filename}': {error.strerror}{remedy}"
    if type(error) is OSError and error.strerror:  # of a stream without a name
        return error.strerror + ("; free some space" if error.errno == errno.ENOSPC else "")
    text = " ".join(str(error).split())
    expected = (tricodec.Error, OSError, ValueError, IndexError, ImportError)
    return text if text and isinstance(error, expected) else f"{type(error).__name__}: {text}"


@contextlib.contextmanager
def permissions_of(source: str | Path | None) -> Iterator[None]:
    """Makes new files with the permissions of the file `source` at most, as ``cp`` does. For the whole process."""
    withheld = 0
    with contextlib.suppress(OSError):  # the command reports it
        if source is not None and Path(source).is_file():
            withheld = 0o666 & ~Path(source).stat().st_mode
    before = os.umask(0o077)
    os.umask(before | withheld)
    try:
        yield
    finally:
        os.umask(before)


def is_there(path: str | Path) -> bool:
    """Whether a command would replace a file."""
    is_device = Path(path).parent in (Path("/dev"), Path("/dev/fd"))  # /dev/stdout may be a file
    return not is_device and Path(path).is_file()


def refuse_existing(path: str | Path, force: bool) -> None:
    """Raises FileExistsError for a file that is there, unless `force` says that a command may replace it."""
    if not force and is_there(path):
        raise FileExistsError(f"'{path}' exists; replace it with --force, or name another output")
