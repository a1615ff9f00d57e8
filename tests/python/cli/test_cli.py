# SPDX-License-Identifier: Apache-2.0
"""The `tricodec` command: its output, exit codes, error lines and helps, each example of which runs as it stands."""

from __future__ import annotations

import argparse
import doctest
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import media
import numpy as np
import pytest
import tricodec
from PIL import Image
from tricodec.cli import main
from tricodec.cli.command import build_parser
from tricodec.cli.shared import DOCUMENTATION

Run = Callable[..., tuple[int, str, str]]


# frames


@pytest.mark.parametrize("name", ["h264_bframes.mp4", "hevc10.mkv", "h264_rot90.mp4", "vp9_odd.webm", "gray.mkv"])
def test_md5_is_that_of_ffmpeg(run: Run, name: str) -> None:
    clip = media.generated(name)

    status, out, err = run("frames", clip, "--md5")

    assert (status, err) == (0, "")
    assert out.strip() == media.ffmpeg_md5(clip)


def test_framemd5_has_a_line_for_each_frame(run: Run) -> None:
    clip = media.generated("h264_size_change.h264")

    _, out, _ = run("frames", clip, "--framemd5")

    rows = [line.split("\t") for line in out.splitlines()]
    assert rows[0] == ["#index", "pts", "width", "height", "format", "bytes", "md5"]
    assert [row[6] for row in rows[1:]] == media.ffmpeg_framemd5(clip)
    assert {(row[2], row[3]) for row in rows[1:]} == {("320", "180"), ("160", "96")}


def test_pictures_hold_the_pixels_of_the_transform(run: Run, tmp_path: Path) -> None:
    clip = media.generated("h264_rot90.mp4")

    status, out, _ = run("frames", clip, "--output", tmp_path, "--first", "10", "--count", "2", "--size", "36x64")

    assert status == 0
    assert "2 PNG files" in out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000010.png", "000011.png"]
    expected = tricodec.decode_video(clip, start=10, count=2, size=(64, 36), device="cpu").frames
    for number, frame in zip((10, 11), expected, strict=True):
        with Image.open(tmp_path / f"{number:06d}.png") as picture:
            assert np.array_equal(np.asarray(picture), frame)


def test_raw_writes_the_arrays_of_decode_video(run: Run, tmp_path: Path) -> None:
    clip, path = media.generated("h264_rot90.mp4"), tmp_path / "frames"
    options = "--count 3 --crop 0 8 64 96 --size 48x-2 --dtype float32 --layout CHW --mean 0.5 --no-antialias"

    assert run("frames", clip, "--raw", "-o", path, *options.split())[0] == 0

    expected = tricodec.decode_video(
        clip, count=3, crop=(0, 8, 64, 96), size=(32, 48), dtype="float32", layout="CHW", mean=0.5, antialias=False,
        device="cpu",
    )  # fmt: skip
    assert path.read_bytes() == expected.frames.tobytes()


def test_contact_sheet_shows_sixteen_frames_across_the_video(run: Run, tmp_path: Path) -> None:
    clip = media.generated("h264_bframes.mp4")

    status, out, _ = run("frames", clip, "--contact-sheet", "-o", tmp_path / "sheet.png", "--size", "32x18")

    assert status == 0
    assert "16 frames" in out
    with Image.open(tmp_path / "sheet.png") as picture:
        sheet = np.asarray(picture)
    assert sheet.shape == (4 + 4 * (18 + 4), 4 + 4 * (32 + 4), 3)
    first = tricodec.decode_video(clip, start=1, count=1, size=(18, 32), device="cpu").frames[0]
    assert np.array_equal(sheet[4:22, 4:36], first)


def test_damage_is_told_on_standard_error(run: Run) -> None:
    status, out, err = run("frames", media.generated("zeroed.mp4"), "--framemd5")

    assert status == 0
    assert len(out.splitlines()) == 51
    assert err.startswith("tricodec: warning: ")
    assert re.search(r"\d packets? damaged; first: \w", err)


# errors


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["frames"], id="no file"),
        pytest.param(["frames", "a.mp4", "--size", "224"], id="size without x"),
        pytest.param(["frames", "a.mp4", "--stride", "x"], id="stride x"),
        pytest.param(["frames", "a.mp4", "--start", "1:5"], id="seconds of one digit"),
        pytest.param(["frames", "a.mp4", "--dtype", "float32"], id="floats in a picture"),
        pytest.param(["frames", "a.mp4", "--md5", "--framemd5"], id="two outputs"),
        pytest.param(["frames", "a.mp4", "--md5", "--size", "2x2"], id="size of native frames"),
        pytest.param(["demo", "--front-ends", "window"], id="unknown front end"),
    ],
)
def test_wrong_usage_is_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_info:
        main(arguments)

    assert exit_info.value.code == 2
    error = capsys.readouterr().err
    assert "--help` explains the usage\n" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("transcode CLIP -o a.xyz", "or name the format (--container mp4)"),
        ("transcode CLIP -o a.mp4 --preset foo", "--preset 'foo' is not one of"),
        ("frames CLIP --start 99", "--start is 99 s"),
        ("frames CLIP --stream 9", "--stream 9 is not in"),
        ("audio SOUND -o a.wav --channels 99", "use --channels 1 or 2"),
        ("audio MOVIE -o a.wav --start 2 --end 1", "--end 1 is not after --start 2"),
        ("audio MOVIE -o a.wav --start 1 --end 1", "--end 1 is not after --start 1"),
        ("audio MOVIE -o a.wav --start 1000", "there is sound from 0.000 s to"),
        ("audio MOVIE -o a.wav --end -1", "there is sound from 0.000 s to"),
        ("encode a.yuv -o b.mp4", "pass --size WIDTHxHEIGHT"),
        ("encode CLIP -o b.mp4 -p bitrat=3", "mean 'bitrate'"),
        ("frames no-such-file.mp4", "no-such-file.mp4"),
    ],
)
def test_an_error_is_one_line_that_names_the_options_of_the_command_and_leaves_no_file(
    run: Run, arguments: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = {"CLIP": "h264_bframes.mp4", "SOUND": "mp3.mp3", "MOVIE": "movie.mp4"}

    status, out, err = run(*(media.generated(names[word]) if word in names else word for word in arguments.split()))

    assert (status, out) == (1, "")
    assert re.fullmatch("tricodec: error: .*\n", err)
    assert text in err
    assert list(tmp_path.iterdir()) == []
    assert not re.search(r"\b(format=|num_|bit_rate|tolerance_s|start_s|stream_index)", err)


def test_closed_pipe_ends_quietly() -> None:
    clip = media.generated("h264_bframes.mp4")
    command = f"{sys.executable} -m tricodec frames {clip} --raw -o - | head -c 10"

    result = subprocess.run(["bash", "-c", command], capture_output=True, check=False)

    assert (len(result.stdout), result.stderr) == (10, b"")


# demo


@pytest.mark.needs_dali
@pytest.mark.needs_triton
def test_demo_gets_the_same_bytes_through_every_door(run: Run, tmp_path: Path) -> None:
    clip = media.generated("h264_bframes.mp4")

    status, out, _ = run("demo", clip, "--frames", "8", "--front-ends", "python,dali,triton", "--output", tmp_path)

    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    expected = tricodec.decode_video(
        clip, stride=6, count=8, size=(224, 224), dtype="float32", layout="CHW", mean=mean, std=std, device="cpu"
    ).frames
    rows = {line.split()[0]: line.split() for line in out.splitlines() if line.endswith(" yes")}
    assert status == 0
    assert set(rows) == {"python", "dali", "triton"}
    assert {row[3] for row in rows.values()} == {hashlib.sha256(expected.tobytes()).hexdigest()}
    with Image.open(tmp_path / "contact_sheet.png") as picture:
        assert picture.size == (4 + 4 * (256 + 4), 4 + 4 * (144 + 4))


# helps and the page of the command line


PAGE = media.REPOSITORY / "docs/reference/command_line.md"


def helps(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parsers of all sub-commands."""
    for action in parser._actions:
        for each in action.choices.values() if isinstance(action, argparse._SubParsersAction) else ():
            yield each
            yield from helps(each)


HELPS = list(helps(build_parser()))
EXAMPLES = dict.fromkeys(
    line.strip() for each in HELPS for line in str(each.epilog).partition("\n\n")[0].splitlines()[1:]
)
QUICK = {  # a short measurement, and a server on free ports that ends when it serves
    "tricodec bench": "--duration 0.1 --iterations 3 --stability-percentage 1e9",
    "tricodec serve": "--http-port 0 --grpc-port 0 --metrics-port 0",
}
BLOCKS = re.findall(r"^\$ (tricodec .*)\n((?:(?!\$ |```).*\n)*)", PAGE.read_text(), re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files that examples name, and the command `tricodec`."""
    (tmp_path / "video.mp4").symlink_to(tricodec.sample_video())
    (tmp_path / "videos").mkdir()
    for name in ("h264_audio.mp4", "movie.mp4"):
        (tmp_path / "videos" / name).symlink_to(media.generated(name))
    np.save(tmp_path / "weights.npy", np.arange(250_000, dtype=np.float32) / 7)
    (tmp_path / "raw.yuv").write_bytes(bytes(5 * 1280 * 720 * 3 // 2))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/tricodec").write_text(f'#!/bin/sh\nexec {sys.executable} -m tricodec "$@"\n')
    (tmp_path / "bin/tricodec").chmod(0o755)
    return tmp_path


def ran(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "TRICODEC_DEVICE": "cpu",
        "PYTHONPATH": f"{Path(tricodec.__file__).parent.parent}:{os.environ.get('PYTHONPATH', '')}",
    }  # fmt: skip
    shell = ["bash", "-e", "-o", "pipefail", "-c", command]
    with subprocess.Popen(
        shell, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        first = ""
        if command.startswith("tricodec serve"):
            assert program.stdout is not None
            first = program.stdout.readline()
            program.terminate()
        out, err = program.communicate(timeout=120)
    return subprocess.CompletedProcess(command, program.returncode, first + out, err)


@pytest.mark.parametrize(
    "command",
    [pytest.param(each, marks=[pytest.mark.needs_triton] if " serve" in each else []) for each in EXAMPLES],
)
def test_an_example_of_a_help_runs_as_it_stands(command: str, folder: Path) -> None:
    before = set(folder.rglob("*"))

    done = ran(" ".join([command, *(QUICK[name] for name in QUICK if command.startswith(name))]), folder)

    assert done.returncode == 0, done
    assert "tricodec: error" not in done.stderr  # Triton says of a machine without a GPU that CUDA had an error
    assert not re.search(" -o [^-]", command) or set(folder.rglob("*")) > before


def test_every_help_has_examples_and_a_page_of_the_documentation() -> None:
    for each in HELPS:
        examples, _, end = str(each.epilog).partition("\n\n")
        assert f"\n  {each.prog} " in examples or f"| {each.prog} " in examples or f"$({each.prog} " in examples
        assert (media.REPOSITORY / "docs" / end.removeprefix(f"documentation: {DOCUMENTATION}/")).is_file()
        assert re.search(rf"(`|{each.prog.split()[0]} ){each.prog.split()[1]}\b", PAGE.read_text())


def test_the_page_shows_what_its_commands_print(folder: Path) -> None:
    checker, rules = doctest.OutputChecker(), doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for command, expected in BLOCKS:
        printed = ran(command, folder).stdout
        assert checker.check_output(expected, printed, rules), (command, printed)


def test_the_command_alone_says_how_to_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 10
    assert sum(line.startswith("  tricodec ") for line in lines) == 3
    assert "tricodec --help" in lines[-2]
    assert lines[-1].startswith("documentation: https://")
