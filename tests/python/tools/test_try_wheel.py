# SPDX-License-Identifier: Apache-2.0
"""Wheels are compared fact by fact, and a wheel for another machine is compiled with the tools of that machine."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import media
import pytest

sys.path.insert(0, str(media.REPOSITORY / "tools"))

import cross
import try_wheel


def facts(**changes: Any) -> dict[str, Any]:
    """What a wheel that works says."""
    known = {"decoded": {"a.mp4": "1f"}, "prepared": {"a.mp4": {"RGB": "2e"}}, "encoded": {"h264": 8}}
    return {**known, "restored": {"zstd": True}, "stream": [1, 3, 240, 320], **changes}


def test_wheels_with_the_same_frames_as_ffmpeg_have_no_differences() -> None:
    assert try_wheel.differences({"a": facts(), "b": facts()}, {"a.mp4": "1f"}) == []


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"decoded": {"a.mp4": "00"}}, "b: frames of a.mp4 are 00, not ffmpeg's 1f"),
        ({"prepared": {"a.mp4": {"RGB": "00"}}}, "b: prepared is {'a.mp4': {'RGB': '00'}}, not"),
        ({"encoded": {"h264": 7}}, "b: encoded is {'h264': 7}, not {'h264': 8}"),
        ({"restored": {"zstd": False}}, "b: zstd does not restore its data"),
    ],
)
def test_a_wheel_that_differs_is_named_with_what_differs(changes: dict[str, Any], line: str) -> None:
    (found,) = try_wheel.differences({"a": facts(), "b": facts(**changes)}, {"a.mp4": "1f"})

    assert found.startswith(line)


@pytest.mark.parametrize(
    ("tag", "machine"),
    [
        ("manylinux_2_34_x86_64", "x86_64"),
        ("manylinux_2_27_aarch64.manylinux_2_28_aarch64", "aarch64"),
        ("linux_aarch64", "aarch64"),
    ],
)
def test_the_machine_of_a_wheel_is_that_of_its_tag(tag: str, machine: str) -> None:
    assert try_wheel.machine_of(Path(f"tricodec-0.1.0-cp311-cp311-{tag}.whl")) == machine


def test_a_wheel_for_another_system_is_refused() -> None:
    with pytest.raises(try_wheel.TrialError, match=r"macosx_14_0_arm64\.whl is not for Linux"):
        try_wheel.machine_of(Path("tricodec-0.1.0-cp311-cp311-macosx_14_0_arm64.whl"))


def test_programs_of_this_machine_run_without_an_emulator(tmp_path: Path) -> None:
    target = cross.target_of(platform.machine(), tmp_path)

    assert target.emulator == []
    assert target.environment() == {}
    assert target.python == sys.executable


def test_another_machine_has_its_own_compiler_and_packages(tmp_path: Path) -> None:
    target = cross.Target("aarch64", "arm64", tmp_path / "sysroot")

    environment = target.environment()

    assert environment["CXX"] == "aarch64-linux-gnu-g++"
    assert all(path.startswith(f"{tmp_path}/sysroot/usr/") for path in environment["PKG_CONFIG_LIBDIR"].split(":"))
    assert f"set(CMAKE_SYSROOT {tmp_path}/sysroot)" in (tmp_path / "toolchain.cmake").read_text()
    assert f"--sysroot={tmp_path}/sysroot" in target.meson_file().read_text()


def test_missing_tools_for_another_machine_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(
        cross.CrossError, match=r"aarch64-linux-gnu-g\+\+.*run tools/install_system_packages.sh aarch64"
    ):
        cross.target_of("aarch64", tmp_path)


def test_an_unknown_machine_is_refused_with_those_that_are_known() -> None:
    command = [sys.executable, media.REPOSITORY / "tools/build_libraries.py", "--arch", "riscv64"]

    result = subprocess.run(command, capture_output=True, text=True, check=False)

    assert result.returncode == 2
    assert "invalid choice: 'riscv64'" in result.stderr
    assert "aarch64" in result.stderr
