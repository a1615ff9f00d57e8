# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends a call that waits for a server, and the process: neither waits for what the server was asked for."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import media
import pytest
from programs import CTRL_C
from range_server import RangeServer, range_server

obstore = pytest.importorskip("obstore")

OPENED = "reader = tricodec.FrameReader(tricodec.open_remote(URL), device='cpu', num_workers=WORKERS); reader[0]"
CALLS = {
    "open": ("", "tricodec.FrameReader(tricodec.open_remote(URL))"),
    "open with an index": ("", "len(tricodec.FrameReader(tricodec.open_remote(URL), index=TARGET))"),
    "batch of one decoder": (OPENED.replace("WORKERS", "1"), "reader.batch(size=(8, 8))"),
    "batch of two decoders": (OPENED.replace("WORKERS", "2"), "reader.batch(size=(8, 8))"),
    "batches of four decoders": (OPENED.replace("WORKERS", "4"), "list(reader.batches(100, size=(8, 8)))"),
    "frames one by one": (OPENED.replace("WORKERS", "2"), "list(reader)"),
    "some frames": (OPENED.replace("WORKERS", "2"), "reader.batch(indices=[500, 9000, 4000], size=(8, 8))"),
    "decode_video": ("", "tricodec.decode_video(tricodec.open_remote(URL), size=(8, 8), device='cpu')"),
    "AudioReader": ("sound = tricodec.AudioReader(tricodec.open_remote(SOUND))", "sound[:]"),
    "read_av": ("", "tricodec.read_av(tricodec.open_remote(SOUND), size=(8, 8), device='cpu')"),
    "read_many": (
        "",
        "tricodec.read_many([tricodec.open_remote(URL), tricodec.open_remote(SOUND)], size=(8, 8), device='cpu')",
    ),
}
PROGRAM = f"""{CTRL_C}
URL, SOUND, LOCAL, TARGET = sys.argv[1:]
{{before}}
print("opened", flush=True)
sys.stdin.readline()
interrupt_soon()
try:
    {{call}}
    sys.exit("the call was over before Ctrl-C")
except KeyboardInterrupt:
    print(time.monotonic() - began, flush=True)
{{after}}
"""
AGAIN = """
sys.stdin.readline()
for chosen in ([3, 40, 41], [450, 451, 9000], [0, 12, 13]):
    wanted = tricodec.FrameReader(LOCAL, device="cpu").batch(indices=chosen)
    assert np.array_equal(reader.batch(indices=chosen), wanted), chosen
assert reader.issues == [], reader.issues
"""
LATENCY_SECONDS = 5.0
MOST_SECONDS = 0.4  # 0.2 s on a machine that does nothing else
MOST_SECONDS_OF_PROCESS = 1.0
NUM_TRIES = 4


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RangeServer, list[str]]]:
    """Half an hour of frames, and of frames with sound, and the first one as a file."""
    folder = tmp_path_factory.mktemp("long")
    for name, clip in (("long.mp4", "h264_bframes.mp4"), ("sound.mp4", "movie.mp4")):
        source = media.generated(clip)
        media.ffmpeg("-stream_loop", "300", "-i", source, "-c", "copy", "-movflags", "+faststart", folder / name)
    with range_server() as server:
        urls = [server.put(name, (folder / name).read_bytes()) for name in ("long.mp4", "sound.mp4")]
        yield server, [*urls, str(folder / "long.mp4")]


def interrupted(
    served: tuple[RangeServer, list[str]], target: Path, before: str, call: str, after: str = ""
) -> tuple[float, float]:
    """Seconds from Ctrl-C to the exception, and from there to the end of the process."""
    server, names = served
    program = PROGRAM.replace("{before}", before).replace("{call}", call).replace("{after}", after)
    server.latency_s = 0.0
    command = [sys.executable, "-c", program, *names, str(target)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "opened\n"
        server.latency_s = LATENCY_SECONDS
        process.stdin.write("\n")
        process.stdin.flush()
        took = float(process.stdout.readline())
        begun = time.monotonic()
        server.latency_s = 0.0
        process.communicate("\n")
        assert process.returncode == 0
        return took, time.monotonic() - begun


@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_waits_for_no_server(name: str, served: tuple[RangeServer, list[str]], tmp_path: Path) -> None:
    for _ in range(NUM_TRIES):
        took, ended = interrupted(served, tmp_path / "index", *CALLS[name])
        if took < MOST_SECONDS and ended < MOST_SECONDS_OF_PROCESS:
            break
    assert took < MOST_SECONDS
    assert ended < MOST_SECONDS_OF_PROCESS
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("num_workers", [1, 2])
def test_a_reader_can_be_used_after_ctrl_c(
    num_workers: int, served: tuple[RangeServer, list[str]], tmp_path: Path
) -> None:
    before = OPENED.replace("WORKERS", str(num_workers))

    interrupted(served, tmp_path / "index", before, "reader.batch(size=(8, 8))", AGAIN)
