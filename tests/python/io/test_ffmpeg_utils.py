# SPDX-License-Identifier: Apache-2.0
"""tricodec.io.ffmpeg_utils against what the ffmpeg command line, which has the same libraries, says of them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable

import pytest
from tricodec.io import ffmpeg_utils


def ffmpeg(option: str) -> str:
    return subprocess.run(["ffmpeg", "-hide_banner", option], capture_output=True, text=True, check=True).stdout


def listed(option: str, flag: str) -> dict[str, str]:
    """Of a table of ffmpeg's: names and descriptions of the lines with flags that begin so."""
    lines = ffmpeg(option).split("------\n" if option in {"-encoders", "-decoders"} else "--\n", 1)[1]
    names: dict[str, str] = {}
    for line in lines.splitlines():
        # FFmpeg 7 marks devices by a "d" of its own.
        found = re.match(rf" {flag}\S* +(?:d +)?(\S+) *(.*)$", line)
        if found:
            names.setdefault(found[1], re.sub(r" \(codec \S+\)$", "", found[2]).strip())
    return names


def test_versions_are_those_of_the_libraries() -> None:
    said = re.findall(r"^(lib\w+) +(\d+)\. *(\d+)\. *(\d+)", ffmpeg("-version"), re.MULTILINE)
    expected = {name: tuple(map(int, numbers)) for name, *numbers in said}

    versions = ffmpeg_utils.get_versions()

    assert set(versions) == {"libavutil", "libavcodec", "libavformat", "libavfilter", "libavdevice"}
    assert versions == {name: expected[name] for name in versions}


@pytest.mark.parametrize(
    ("ours", "option", "flag"),
    [
        (ffmpeg_utils.get_demuxers, "-demuxers", "D"),
        (ffmpeg_utils.get_muxers, "-muxers", " ?E"),
        (ffmpeg_utils.get_audio_decoders, "-decoders", "A"),
        (ffmpeg_utils.get_audio_encoders, "-encoders", "A"),
        (ffmpeg_utils.get_video_decoders, "-decoders", "V"),
        (ffmpeg_utils.get_video_encoders, "-encoders", "V"),
    ],
    ids=["demuxers", "muxers", "audio decoders", "audio encoders", "video decoders", "video encoders"],
)
def test_names_are_those_that_ffmpeg_lists(ours: Callable[[], dict[str, str]], option: str, flag: str) -> None:
    names = ours()

    # The command line tells devices from formats in a list of their own.
    devices = set(ffmpeg_utils.get_input_devices()) | set(ffmpeg_utils.get_output_devices())
    expected = {name: text for name, text in listed(option, flag).items() if name not in devices}
    assert set(names) == set(expected)
    assert [name for name in names if names[name].strip() != expected[name] and names[name]] == []


def test_the_log_level_is_kept_and_shows_ffmpegs_lines() -> None:
    program = (
        "import logging, sys\n"
        "logging.basicConfig(level=1, stream=sys.stdout, format='%(levelname)s %(message)s')\n"
        "from tricodec.io import ffmpeg_utils\n"
        "for level in (16, 48):\n"
        "    ffmpeg_utils.set_log_level(level)\n"
        "    print('level', ffmpeg_utils.get_log_level())\n"
        "    ffmpeg_utils.probe_encoder('libx264')\n"
    )

    # In a process of its own: what a level shows stays shown.
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    quiet, talkative = said.removeprefix("level 16\n").split("level 48\n")
    assert quiet == ""
    assert "INFO FFmpeg: frame I:1" in talkative  # libx264's summary
    assert "DEBUG FFmpeg:" in talkative


def test_an_encoder_that_is_listed_need_not_work() -> None:
    if "h264_nvenc" not in ffmpeg_utils.get_video_encoders():
        pytest.skip("this FFmpeg was built without h264_nvenc")

    works, reason = ffmpeg_utils.probe_encoder("h264_nvenc")

    assert works or "h264_nvenc" in reason
