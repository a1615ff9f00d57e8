# SPDX-License-Identifier: Apache-2.0
"""Time stamps that mp4 cannot store raise an error: libavformat would end the process. Each file is a process."""

from __future__ import annotations

import textwrap

import pytest
from preloaded import with_tricodec

PRELUDE = """
    import tricodec

    def write(*times, format="mp4", fragmented=True, data=b"\\0\\0\\0\\1\\x65abc"):
        with tricodec.Muxer(None, format=format, fragmented=fragmented) as muxer:
            muxer.add_stream(tricodec.describe_stream("mpeg4", 64, 64, time_base=(1, 25)))
            for number, time in enumerate(times):
                content = b"" if time == "empty" else data
                stamp = -(10**14) if time == "empty" else time
                muxer.write(tricodec.Packet(content, pts=stamp, dts=stamp, duration=1, key=True))
            muxer.finish()
            return muxer.getvalue()

    def write_two(first, second, fragmented):
        with tricodec.Muxer(None, format="mp4", fragmented=fragmented) as muxer:
            for _ in range(2):
                muxer.add_stream(tricodec.describe_stream("mpeg4", 64, 64, time_base=(1, 25)))
            for number, time in enumerate((first, second)):
                muxer.write(tricodec.Packet(b"abcd", pts=time, dts=time, duration=1, key=True), number)
            muxer.finish()
            return muxer.getvalue()

    def times(file):
        return [packet.dts for packet in tricodec.Demuxer(file)]
"""


def run(script: str) -> str:
    """What a process of Python prints; an abort of libavformat ends it."""
    process = with_tricodec().run_code(textwrap.dedent(PRELUDE) + textwrap.dedent(script))
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.mark.parametrize("fragmented", [False, True])
@pytest.mark.parametrize("stamps", ["0, 1, 1 << 40", "0, -(1 << 31), 1", "None, None, 1 << 50"])
def test_a_time_that_mp4_cannot_store_is_refused(stamps: str, fragmented: bool) -> None:
    printed = run(
        f"""
        try:
            write({stamps}, format={"mp4"!r}, fragmented={fragmented})
        except ValueError as error:
            print(error)
        """
    )

    assert "2^31 units" in printed


def test_times_near_the_bound_are_written() -> None:
    printed = run("print(times(write(0, 100_000, 200_000)))")

    assert printed == "[0, 51200000, 102400000]\n"  # in units of 1/12800 s


@pytest.mark.parametrize("fragmented", [False, True])
def test_a_packet_without_times_follows_the_one_before(fragmented: bool) -> None:
    printed = run(f"print(len(times(write(0, None, 2, None, fragmented={fragmented}))))")

    assert printed == "4\n"


def test_other_containers_take_any_step() -> None:
    printed = run("print(times(write(0, 1 << 33, format='nut', fragmented=False))[-1] > 0)")

    assert printed == "True\n"
