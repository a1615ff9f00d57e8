# SPDX-License-Identifier: Apache-2.0
"""What is written never takes the place of what is still to be read, nor of a whole file before it is whole."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import media
import numpy as np
import pytest
from tricodec.cli import main


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    return Path(shutil.copy(media.generated("h264_bframes.mp4"), tmp_path / "a.mp4"))


@pytest.mark.parametrize(
    "command",
    [["transcode", "a.mp4", "a.mp4"], ["encode", "a.mp4", "-o", "a.mp4"], ["frames", "a.mp4", "--raw", "-o", "a.mp4"]],
    ids=lambda command: command[0],
)
def test_commands_refuse_to_write_their_input(
    command: list[str], clip: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(clip.parent)
    before = clip.read_bytes()

    assert main(command) == 1

    assert "name another output" in capsys.readouterr().err
    assert clip.read_bytes() == before


@pytest.mark.parametrize(
    ("command", "target"),
    [
        ("transcode a.mp4 b.mp4", "b.mp4"),
        ("transcode a.mp4 -o out/", "out/a.mp4"),
        ("encode a.mp4 -o b.mkv", "b.mkv"),
        ("audio a.wav -o b.wav", "b.wav"),
        ("frames a.mp4 --count 2", "a_frames/000001.png"),
        ("frames a.mp4 --count 2 --raw", "a.raw"),
        ("compress a.wav", "a.wav.tcz"),
        ("decompress b.tcz", "b"),
    ],
)
def test_a_file_that_is_there_is_replaced_with_force_alone(
    command: str, target: str, clip: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(clip.parent)
    shutil.copy(media.generated("s16.wav"), "a.wav")
    assert main(["compress", "a.wav", "-o", "b.tcz", "--algorithm", "lz4"]) == 0
    path = clip.parent / target
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"old")
    others = sorted(clip.parent.rglob("*"))

    assert main(command.split()) == 1

    assert f"{target}' exists; replace it with --force" in capsys.readouterr().err
    assert path.read_bytes() == b"old"
    assert sorted(clip.parent.rglob("*")) == others
    assert main([*command.split(), "--force"]) == 0
    assert path.read_bytes() != b"old"


@pytest.mark.parametrize(
    ("command", "kept", "lost"),
    [
        ("transcode a.mp4 b.mp4 -o out --preset ultrafast", "out/a.mp4", "out/b.mp4"),
        ("frames a.mp4 b.mp4 -o out --raw", "out/a.raw", "out/b.raw"),
        ("frames a.mp4 b.mp4 -o out", "out/a/000003.png", "out/b/000024.png"),
        ("frames a.mp4 -o out --times 0.2,0.6", "out/000005.png", "out/000015.png"),
        ("compress a.mp4 b.mp4 --algorithm lz4", "a.mp4.tcz", "b.mp4.tcz"),
        ("decompress a.mp4.tcz b.mp4.tcz -o out", "out/a.mp4", "out/b.mp4"),
    ],
)
def test_resume_keeps_the_results_that_are_there_and_makes_the_others(
    command: str, kept: str, lost: str, clip: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(clip.parent)
    shutil.copy(clip, "b.mp4")
    if command.startswith("decompress"):
        assert main(["compress", "a.mp4", "b.mp4", "--algorithm", "lz4"]) == 0
    assert main(command.split()) == 0
    made = {path: path.read_bytes() for path in clip.parent.rglob("*") if path.is_file()}
    Path(kept).write_bytes(b"kept")
    Path(lost).unlink()

    assert main([*command.split(), "--resume"]) == 0

    made[clip.parent / kept] = b"kept"
    assert {path: path.read_bytes() for path in clip.parent.rglob("*") if path.is_file()} == made
    capsys.readouterr()
    assert main([*command.split(), "--resume", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert all(each["kept"] for each in (facts if isinstance(facts, list) else [facts]))
    with pytest.raises(SystemExit, match="2"):
        main([*command.split(), "--resume", "--force"])


def test_an_index_of_other_data_is_not_replaced(clip: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (clip.parent / "b.parquet").write_bytes(b"old")

    assert main(["index", str(clip), "-o", str(clip.parent / "b.parquet")]) == 1

    assert "is not an index" in capsys.readouterr().err
    assert (clip.parent / "b.parquet").read_bytes() == b"old"


@pytest.mark.parametrize("force", [False, True])
def test_what_fails_to_decompress_leaves_no_file_and_keeps_the_old(force: bool, tmp_path: Path) -> None:
    source = tmp_path / "a"
    source.write_bytes(b"hello " * 1000)
    assert main(["compress", str(source), "--algorithm", "lz4"]) == 0
    packed = tmp_path / "a.tcz"
    packed.write_bytes(packed.read_bytes()[:-20])
    target = tmp_path / "b"
    if force:
        target.write_bytes(b"old")

    assert main(["decompress", str(packed), "-o", str(target), *["-f"] * force]) == 1

    assert sorted(each.name for each in tmp_path.iterdir()) == ["a", "a.tcz", *["b"] * force]
    assert not force or target.read_bytes() == b"old"


def test_compress_can_take_the_place_of_its_input(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.arange(100_000))
    path.chmod(0o640)
    before = path.read_bytes()

    assert main(["compress", str(path), "-f", "-o", str(path)]) == 0
    assert path.stat().st_size < len(before)
    assert main(["decompress", str(path), "-f", "-o", str(path)]) == 0

    assert path.read_bytes() == before
    assert path.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["a.npy"]
