# SPDX-License-Identifier: Apache-2.0
"""Device memory that is kept for the next caller, with a stand-in for the driver."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import media
import pytest
from gpu_helpers import Run, build_fake_decoder, runner_with_driver

needs_nvdec = pytest.mark.needs_nvdec


def test_what_is_used_over_and_over_stays_whatever_its_size(tmp_path: Path) -> None:
    """Of 4 GiB 256 MiB are kept: the two large blocks drive each other out, not the small one in between."""
    with runner_with_driver(tmp_path, "from tricodec import nvcomp\n", FAKE_CUDA_MEMORY=str(4 << 30)) as run:
        run("""
        small = np.zeros(1000, np.uint8)
        large = [np.zeros(size << 20, np.uint8) for size in (140, 150)]
        for _ in range(3):
            for data in (large[0], small, large[1], small):
                nvcomp.as_array(data).cuda()

        sizes = [int(call[2], 16) for call in logged_calls() if call[0] == "allocate"]
        assert sizes.count(1024) == 1, sizes
        assert sizes.count(140 << 20) == sizes.count(150 << 20) == 3, sizes
        """)


def test_memory_that_a_busy_stream_uses_is_waited_for_only_when_as_much_lies_idle_as_is_kept(tmp_path: Path) -> None:
    """Of 4 GiB 256 MiB are kept: two blocks of 100 MiB, while their work is not done."""
    with runner_with_driver(tmp_path, "from tricodec import nvcomp\n", FAKE_CUDA_MEMORY=str(4 << 30)) as run:
        run("""
        def new(count):
            before = len(logged_calls())
            arrays = [nvcomp.as_array(np.zeros(100 << 20, np.uint8)).cuda() for _ in range(count)]
            calls = [call for call in logged_calls()[before:] if call[0] in ("allocate", "wait")]
            return arrays, [call[0] for call in calls]

        arrays, calls = new(1)
        assert calls.count("allocate") == 1, calls
        unhindered = [call for call in calls if call != "allocate"]
        os.environ["FAKE_CUDA_QUERY"] = "600"  # from now on no work is done
        for taken in (1, 2):
            del arrays
            arrays, calls = new(taken)
            assert calls.count("allocate") == 1, calls
        del arrays
        arrays, calls = new(1)
        assert "allocate" not in calls and "wait" in calls, calls

        os.environ["FAKE_CUDA_QUERY"] = "0"
        more, calls = new(1)
        assert calls == unhindered, calls
        """)


_CLIENT_FILE = """
import fcntl, gc, secrets, tricodec
from tricodec.triton_backend.models.decode_task import DecodeTask
from tricodec.triton_backend.runtime import client_files
from tricodec.triton_backend.runtime.settings import Settings

BLACK = bytes(4 * 40 * 60 * 3)  # what the driver's stand-in makes of all frames
NAME = secrets.token_hex(16)
FILE = os.memfd_create(f"tricodec-client-{NAME}", os.MFD_ALLOW_SEALING)
os.ftruncate(FILE, len(BLACK))
fcntl.fcntl(FILE, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)

def decode():
    before = len(logged_calls())
    os.pwrite(FILE, b"w" * len(BLACK), 0)
    words, transform = {"count": 4}, {"size": (40, 60)}
    task = DecodeTask(words, transform=transform, frames_file=(os.getpid(), FILE, NAME))
    with task.open(CLIP, Settings(device="cuda:0"), 1) as (job,):
        job.outcome()
    assert os.pread(FILE, len(BLACK), 0) == BLACK
    return [call[0] for call in logged_calls()[before:]]

client_files.keep_files()
"""


def with_client_file(folder: Path) -> AbstractContextManager[Run]:
    clip = repr(str(media.generated("h264_nob.mp4")))
    return runner_with_driver(build_fake_decoder(folder), _CLIENT_FILE.replace("CLIP", clip))


@needs_nvdec
def test_a_worker_locks_the_pages_of_a_clients_file_once_many_requests_used_it(tmp_path: Path) -> None:
    with with_client_file(tmp_path) as run:
        run("""
        calls = [decode() for _ in range(12)]
        assert ["cuMemHostRegister" in names for names in calls] == [number == 8 for number in range(12)], calls

        before = len(logged_calls())
        client_files.forget_files()
        gc.collect()
        assert "cuMemHostUnregister" in [call[0] for call in logged_calls()[before:]]
        assert NAME not in open("/proc/self/maps").read()
        decode()
        """)
