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
@pytest.mark.parametrize("format", ["mp4", "mov"])
@pytest.mark.parametrize(
    "stamps", ["0, 1, 1 << 31", "0, 1, 1 << 40", "0, -(1 << 31), 1", "-(1 << 50), 0, 1", "None, None, 1 << 50"]
)
@pytest.mark.sweep(3)
def test_a_time_that_mp4_cannot_store_is_refused(stamps: str, format: str, fragmented: bool) -> None:
    printed = run(
        f"""
        try:
            write({stamps}, format={format!r}, fragmented={fragmented})
        except ValueError as error:
            print(error)
        """
    )

    assert "2^31 units" in printed


@pytest.mark.parametrize("times", [(1 << 40, 0), (0, 1 << 40)])
def test_fragments_of_streams_that_begin_far_from_one_another_are_refused(times: tuple[int, int]) -> None:
    # libavformat ended the process.
    printed = run(
        f"""
        try:
            write_two(*{times}, fragmented=True)
        except ValueError as error:
            print(error)
        print(len(write_two(*{times}, fragmented=False)) > 0, len(write_two(1 << 40, 1 << 40, fragmented=True)) > 0)
        """
    )

    error, others = printed.splitlines()
    assert "fragments of mp4 take less than 2^31 units between them" in error
    assert others == "True True"


def test_times_near_the_bound_are_written() -> None:
    printed = run("print(times(write(0, 100_000, 200_000)))")

    assert printed == "[0, 51200000, 102400000]\n"  # in units of 1/12800 s


@pytest.mark.parametrize("fragmented", [False, True])
def test_a_packet_without_times_follows_the_one_before(fragmented: bool) -> None:
    printed = run(f"print(len(times(write(0, None, 2, None, fragmented={fragmented}))))")

    assert printed == "4\n"


def test_a_packet_of_no_bytes_is_left_out() -> None:
    printed = run("print(len(times(write('empty', None, None, 'empty', None))))")

    assert printed == "3\n"


def test_other_containers_take_any_step() -> None:
    printed = run("print(times(write(0, 1 << 33, format='nut', fragmented=False))[-1] > 0)")

    assert printed == "True\n"


def test_a_muxer_that_could_not_be_started_is_not_started_again() -> None:
    # libavformat has freed what the second call reads.
    printed = run(
        """
        stream = tricodec.describe_stream("av1", 96, 64, time_base=(1, 25), headers=b"{" * 130)
        muxer = tricodec.Muxer(None, format="webm")
        muxer.add_stream(stream)
        for _ in range(20):
            try:
                muxer.write(tricodec.Packet(b"x" * 100, pts=0))
            except (ValueError, tricodec.Error) as error:
                print(error)
        muxer.discard()
        """
    )

    first, *later = printed.splitlines()
    assert "cannot start '<bytes>' as webm" in first
    assert len(later) == 19
    assert all("could not be started before" in line for line in later)
