# SPDX-License-Identifier: Apache-2.0
"""Test media: clips made by the ffmpeg command line, shared real clips if any, and ffmpeg as the oracle."""

from __future__ import annotations

import csv
import dataclasses
import functools
import hashlib
import inspect
import json
import os
import re
import shutil
import subprocess
import tempfile
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from audio_recipes import AUDIO_RECIPES
from media_recipes import RECIPES, Recipe

REPOSITORY = Path(__file__).resolve().parents[3]
CACHE = Path(os.environ.get("TRICODEC_TEST_CACHE") or REPOSITORY / "build" / "test-media")


def _shared_clips() -> Path | None:
    named = os.environ.get("TRICODEC_SHARED_CLIPS")
    candidates = [Path(named)] if named else [REPOSITORY / "shared/clips", REPOSITORY.parent / "shared/clips"]
    found = next((path for path in candidates if (path / "MANIFEST.tsv").is_file()), None)
    if named and found is None:
        message = f"TRICODEC_SHARED_CLIPS={named} has no MANIFEST.tsv; unset it or name a folder of clips"
        raise FileNotFoundError(message)
    return found


def copied(clips: Sequence[str] | dict[str, str], folder: Path) -> Path:
    """Copies clips to a folder, under their names or under those that are keys; returns the folder."""
    for name in clips:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(generated(clips[name] if isinstance(clips, dict) else name), folder / name)
    return folder


def indexed(folder: Path) -> Path:
    """The index of the videos in a folder, where it is written."""
    import tricodec

    tricodec.data.DatasetIndex.build([folder], folder / "index.parquet")
    return folder / "index.parquet"


@functools.cache
def _libavcodec() -> int:
    """The major version of the one that tricodec decodes with."""
    import tricodec

    found = re.search(r"^libavcodec: (\d+)\.", tricodec.build_info(), re.MULTILINE)
    assert found is not None
    return int(found[1])


SHARED_CLIPS: Path | None = _shared_clips()
"""Real clips with published checksums (a folder with MANIFEST.tsv), or None. TRICODEC_SHARED_CLIPS names it."""


@dataclasses.dataclass(frozen=True)
class Clip:
    """One row of a MANIFEST.tsv: the MD5 is over all frames, native format and size, exact crop, no rotation."""

    name: str
    path: Path
    published_md5: str
    num_frames: int
    pix_fmt: str
    width: int
    height: int
    codec: str

    @property
    def stream_index(self) -> int:
        """The first video stream, of which the MD5 is."""
        import tricodec

        return next(stream.index for stream in tricodec.probe(self.path).streams if stream.kind == "video")

    @property
    def _varies(self) -> bool:
        """Whether other frames than FFmpeg 5's are right: of MPEG-4: later assembly changed its rounding."""
        return self.codec == "mpeg4" and _libavcodec() != 59

    @property
    def md5(self) -> str:
        """The published MD5, or what the ffmpeg of this machine says where versions differ."""
        return ffmpeg_md5(self.path) if self._varies else self.published_md5


def manifest() -> list[Clip]:
    """The shared clips; empty where there are none."""
    if SHARED_CLIPS is None:
        return []
    with (SHARED_CLIPS / "MANIFEST.tsv").open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    clips = []
    for row in rows:
        width, height = map(int, row["WxH"].split("x"))
        clips.append(
            Clip(
                name=row["file"],
                path=SHARED_CLIPS / row["file"],
                published_md5=row["md5_yuv"],
                num_frames=int(row["frames"]),
                pix_fmt=row["pix_fmt"],
                width=width,
                height=height,
                codec=row["codec"],
            )
        )
    return clips


_CLIPS = RECIPES | AUDIO_RECIPES


def generated(name: str) -> Path:
    """The clip of that name in RECIPES or AUDIO_RECIPES, made on first use and kept in the cache."""
    recipe = _CLIPS.get(name)
    if recipe is None:
        message = f"no generated clip is called {name!r}; accepted: {', '.join(_CLIPS)}"
        raise KeyError(message)
    path = CACHE / _recipe_key(name) / name
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            unfinished = Path(folder) / name
            _make(recipe, unfinished)
            unfinished.replace(path)  # a test run beside this one sees the whole file or none
    return path


def _make(recipe: Recipe, output: Path) -> None:
    if recipe.edit is not None:
        output.write_bytes(recipe.edit(*(generated(base).read_bytes() for base in recipe.bases)))
        return
    args = [str(generated(arg[1:])) if arg.startswith("@") else arg for arg in recipe.args]
    bitexact = ["-fflags", "+bitexact", "-flags:v", "+bitexact"]
    if "-flags" in args:  # a second -flags would replace the recipe's own
        bitexact = bitexact[:2]
    command = [*_FFMPEG, *args, *bitexact]
    if recipe.two_pass:
        log = ["-passlogfile", str(output.with_suffix(""))]
        _run([*command, "-pass", "1", *log, "-f", "null", "-"])
        command += ["-pass", "2", *log]
    _run([*command, str(output)])
    if output.stat().st_size == 0:
        message = f"ffmpeg wrote an empty file for {output.name} ({recipe.why})"
        raise RuntimeError(message)


@functools.cache
def _recipe_key(name: str) -> str:
    recipe = _CLIPS[name]
    inputs = [*recipe.bases, *(arg[1:] for arg in recipe.args if arg.startswith("@"))]
    edit = inspect.getsource(recipe.edit) if recipe.edit else ""
    parts = [ffmpeg_version(), name, str(recipe.two_pass), *recipe.args, edit, *(_recipe_key(base) for base in inputs)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


@functools.cache
def ffmpeg_version() -> str:
    return _run(["ffmpeg", "-version"]).stdout.decode().splitlines()[0]


_FFMPEG = ("ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "error", "-y")


def ffmpeg(*arguments: str | Path, stdin: bytes = b"") -> bytes:
    """What an ffmpeg command writes to its standard output, which it calls "-".

    The same command of the same bytes is not run again: what it wrote to its standard output, or to its one file, is
    kept in the cache.

    Args:
        arguments: a string is one argument or more, with spaces between them; a path is one.
        stdin: the standard input, "-".
    """
    words = [word for each in arguments for word in (each.split() if isinstance(each, str) else [str(each)])]
    named = _named_by_content(words)
    if named is None:
        return _run([*_FFMPEG, *words], stdin).stdout
    if words[-1] == "-":
        return _answer([*named, stdin], lambda: _run([*_FFMPEG, *words], stdin).stdout)
    output = Path(words[-1])

    def make() -> bytes:
        _run([*_FFMPEG, *words], stdin)
        return output.read_bytes()

    output.write_bytes(_answer([*named, stdin], make))
    return b""


_SEVERAL_FILES = re.compile(r"%|://|\.(m3u8|mpd|txt|ffconcat|sdp)$|^(concat|dash|hls|segment|stream_segment|tee)$")


def _named_by_content(words: Sequence[str]) -> list[str] | None:
    """The words of a command with the content of its inputs in place of their paths; None if it has other files."""
    inputs = {number + 1 for number, word in enumerate(words[:-1]) if word == "-i"}
    named = []
    for number, word in enumerate(words):
        if _SEVERAL_FILES.search(word) or "=/" in word or ":/" in word:
            return None
        if number == len(words) - 1 and word != "-":
            output = Path(word)
            if not output.is_absolute() or (output.exists() and not output.is_file()):
                return None
            named.append(output.suffix)
        elif number in inputs and Path(word).is_file():
            named.append(_content(word))
        elif word.startswith("/"):
            return None
        else:
            named.append(word)
    return named


def _run(command: list[str], stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    result = subprocess.run(command, input=stdin, capture_output=True, check=False)
    if result.returncode != 0:
        text = result.stderr.decode(errors="replace").strip()
        message = f"{' '.join(command)}\nexit status {result.returncode}: {text[-2000:]}"
        raise RuntimeError(message)
    return result


def _content(path: Path | str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest() + Path(path).suffix


def _kept(path: Path | str, words: Sequence[str], ask: Callable[[], Any]) -> Any:
    """What `ask` says of a file, from an earlier test that asked the same ffmpeg the same of the same bytes."""
    return json.loads(_answer([_content(path), *words], lambda: json.dumps(ask()).encode()))


_MOST_KEPT_BYTES = 8 << 20


def _answer(question: Sequence[str | bytes], ask: Callable[[], bytes]) -> bytes:
    """What `ask` gives, or gave to an earlier test with the same question."""
    digest = hashlib.sha256(ffmpeg_version().encode())
    for each in question:
        part = each.encode() if isinstance(each, str) else each
        digest.update(len(part).to_bytes(8, "little") + part)
    answer = CACHE / "answers" / digest.hexdigest()[:24]
    if answer.is_file():
        return zlib.decompress(answer.read_bytes())
    said = ask()
    if len(said) <= _MOST_KEPT_BYTES:
        answer.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=answer.parent, delete=False) as unfinished:
            unfinished.write(zlib.compress(said, 1))
        Path(unfinished.name).replace(answer)  # a test run beside this one sees the whole file or none
    return said


_TO_RAW = ("-map", "0:v:0", "-fps_mode", "passthrough", "-noautoscale")


def _as_they_are(path: Path | str, input_options: tuple[str, ...]) -> list[str]:
    return ["-noautorotate", "-flags", "unaligned", *input_options, "-i", str(path)]


def _decode(
    path: Path | str, pix_fmt: str | None, input_options: tuple[str, ...], output_options: tuple[str, ...] = ()
) -> tuple[bytes, list[int], list[str]]:
    """All packed frames in one string, and the size in bytes and the MD5 of each."""
    convert = ["-pix_fmt", pix_fmt] if pix_fmt else []
    output = [*_TO_RAW, *convert, *output_options]
    with tempfile.NamedTemporaryFile(suffix=".framemd5") as sums:
        result = _run(
            [*_FFMPEG, *_as_they_are(path, input_options),
             *output, "-f", "rawvideo", "pipe:1", *output, "-f", "framemd5", sums.name]
        )  # fmt: skip
        lines = [line for line in Path(sums.name).read_text().splitlines() if not line.startswith("#")]
    fields = [re.split(r"\s*,\s*", line.strip()) for line in lines]
    sizes = [int(field[4]) for field in fields]
    if sum(sizes) != len(result.stdout):
        message = f"ffmpeg's frame sizes add up to {sum(sizes)} bytes, its output has {len(result.stdout)} ({path})"
        raise RuntimeError(message)
    return result.stdout, sizes, [field[5] for field in fields]


def ffmpeg_frames(
    path: Path | str,
    pix_fmt: str | None = None,
    *,
    input_options: tuple[str, ...] = (),
    output_options: tuple[str, ...] = (),
) -> list[bytes]:
    """The packed bytes of every frame, by the ffmpeg command line.

    Args:
        path: the clip; its first video stream is decoded, exactly cropped and not rotated.
        pix_fmt: convert to this format (libswscale's arithmetic); None keeps the stream's.
        input_options: more options before `-i`, such as ("-threads", "1") for damaged streams: their concealment
            depends on how many threads decode.
        output_options: more options behind it, such as filters.
    """

    def ask() -> bytes:
        data, sizes, _ = _decode(path, pix_fmt, input_options, output_options)
        return json.dumps(sizes).encode() + b"\n" + data

    question = ["frames", _content(path), pix_fmt or "", *input_options, "", *output_options]
    listed, _, data = _answer(question, ask).partition(b"\n")
    sizes = json.loads(listed)
    frames = []
    start = 0
    for size in sizes:
        frames.append(data[start : start + size])
        start += size
    return frames


def ffmpeg_md5(path: Path | str, *, input_options: tuple[str, ...] = ()) -> str:
    """One MD5 over all frames, as MANIFEST.tsv defines it."""

    def ask() -> str:
        return hashlib.md5(_decode(path, None, input_options)[0], usedforsecurity=False).hexdigest()

    return str(_kept(path, ("md5", *input_options), ask))


def ffmpeg_framemd5(
    path: Path | str, *, input_options: tuple[str, ...] = (), output_options: tuple[str, ...] = ()
) -> list[str]:
    """The MD5 of each frame, in presentation order."""

    def ask() -> list[str]:
        command = [*_FFMPEG, *_as_they_are(path, input_options), *_TO_RAW, *output_options, "-f", "framemd5", "-"]
        lines = _run(command).stdout.decode().splitlines()
        return [line.rsplit(",", 1)[1].strip() for line in lines if not line.startswith("#")]

    return list(_kept(path, ("framemd5", *input_options, "", *output_options), ask))


def run_ffmpeg_raw(path: Path | str, output_options: tuple[str, ...], *, autorotate: bool) -> bytes:
    """Every frame of the first video stream as raw bytes, converted as `output_options` say."""
    rotate = "" if autorotate else "-noautorotate"
    return ffmpeg(rotate, "-i", path, "-map 0:v:0 -fps_mode passthrough", *output_options, "-f rawvideo -")


def ffmpeg_samples(
    path: Path | str, dtype: str = "float32", options: str = "", *, channels: int = 2, stream: int = 0
) -> npt.NDArray[Any]:
    """The samples [channels, samples] that ffmpeg writes of an audio stream."""
    form = {"float32": "f32le", "int16": "s16le"}[dtype]
    raw = ffmpeg("-i", Path(path), f"-map 0:a:{stream} {options} -f {form} -")
    return np.frombuffer(raw, dtype).reshape(-1, channels).T


def ffprobe(source: Path | str | bytes, options: str) -> Any:
    """The JSON of an ffprobe command about a file, or about its bytes; the options have spaces between them."""
    name, stdin = ("-", source) if isinstance(source, bytes) else (str(source), b"")

    def ask() -> Any:
        return json.loads(_run(["ffprobe", "-v", "error", *options.split(), "-of", "json", "-i", name], stdin).stdout)

    if isinstance(source, bytes):
        return json.loads(_answer(["ffprobe of bytes", options, source], lambda: json.dumps(ask()).encode()))
    if "-show_format" in options or not Path(source).is_file():
        return ask()
    return _kept(source, ("ffprobe", options), ask)


def ffprobe_times(path: Path | str) -> list[float]:
    """Presentation times of the frames of the first video stream, in seconds."""
    frames = ffprobe(path, "-select_streams v:0 -show_entries frame=pts_time")["frames"]
    return [float(frame["pts_time"]) for frame in frames]


def make_all() -> None:
    """Makes every generated clip that is not there yet, several at a time."""
    with ThreadPoolExecutor() as pool:
        list(pool.map(generated, _CLIPS))


if __name__ == "__main__":
    make_all()
