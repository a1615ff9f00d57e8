# SPDX-License-Identifier: Apache-2.0
"""No stream makes a process take memory that it cannot fill: sizes are checked before any is taken."""

from __future__ import annotations

import pickle
import struct
import subprocess
import sys
from collections.abc import Iterator
from typing import IO, Any

import pytest
from compress_data import ALGORITHMS, SPEC_6, as_version_6, available
from tricodec import nvcomp

HUGE = (1 << 32) - 8  # a chunk may have as many
DATA = bytes(range(64)) * 2

# Decodes what it reads with 1 GiB of address space left, and says what became of it. Taking HUGE bytes fails there.
CHILD = """
import pickle, resource, sys
import tricodec
names = {"tricodec": tricodec}
without_limit = resource.getrlimit(resource.RLIMIT_AS)
done = set()
answers = sys.stdout.buffer
sys.stdout = sys.stderr
while True:
    stream, call, setup = pickle.load(sys.stdin.buffer)
    if setup not in done:
        exec(setup, names)
        done.add(setup)
    said = ""
    taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + (1 << 30), without_limit[1]))
    try:
        exec(call, names | {"stream": stream})
    except Exception as error:
        said = f"{type(error).__name__} {error}"
    resource.setrlimit(resource.RLIMIT_AS, without_limit)
    pickle.dump(said, answers)
    answers.flush()
"""

DALI = """
import numpy as np, tricodec.dali
from nvidia.dali import Pipeline, fn
data = []
pipe = Pipeline(batch_size=1, num_threads=1, device_id=None, prefetch_queue_depth=1)
with pipe:
    pipe.set_outputs(fn.tricodec.decompress(fn.external_source(source=lambda: data, batch=True), header=HEADER))
pipe.build()
"""


class Child:
    """A process with little memory, which decodes for several tests. One that has ended is started again."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, question: tuple[bytes, str, str]) -> str:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        process = self._process
        to, back = process.stdin, process.stdout
        assert to is not None
        assert back is not None
        try:
            pickle.dump(question, to)
            to.flush()
            said: str = pickle.load(back)
        except (EOFError, BrokenPipeError):
            errors: IO[Any] | None = process.stderr
            text = errors.read().decode() if errors is not None else ""
            self.close()
            pytest.fail(f"the process ended with status {process.returncode}: {text[-2000:]}")
        return said

    def close(self) -> None:
        if self._process is not None:
            process, self._process = self._process, None
            with process:
                process.kill()


_CHILD = Child()


@pytest.fixture(scope="module", autouse=True)
def _child_ends() -> Iterator[None]:
    yield
    _CHILD.close()


def outcome(stream: bytes, call: str, setup: str = "") -> str:
    """What decoding raises in another process with little memory."""
    return _CHILD.ask((stream, call, setup))


def container(algorithm: str, data: bytes = DATA) -> bytearray:
    """One chunk in a container that says that it expands to HUGE bytes."""
    available(algorithm)
    stream = bytearray(nvcomp.Codec(algorithm=algorithm, uncomp_chunk_size=1 << 20, device="cpu").encode(data))
    struct.pack_into("<Q", stream, 16, HUGE)
    struct.pack_into("<Q", stream, 48, HUGE)
    return stream


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_container_that_lies_about_its_size_takes_no_memory(algorithm: str) -> None:
    said = outcome(bytes(container(algorithm)), "tricodec.Codec(device='cpu').decode(stream)")

    assert said.startswith("CorruptDataError")
    assert "cannot hold 4294967288" in said


@pytest.mark.parametrize("algorithm", SPEC_6)
def test_a_container_of_version_6_that_lies_about_its_size_takes_no_memory(algorithm: str) -> None:
    stream = as_version_6(bytes(container(algorithm)))

    assert outcome(stream, "tricodec.Codec(device='cpu').decode(stream)").startswith("CorruptDataError")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_size_before_a_raw_stream_that_lies_takes_no_memory(algorithm: str) -> None:
    available(algorithm)
    kind = nvcomp.WITH_UNCOMPRESSED_SIZE
    stream = bytes(nvcomp.Codec(algorithm=algorithm, bitstream_kind=kind, device="cpu").encode(DATA))
    form = "<I" if algorithm == "LZ4" else "<Q"
    stream = struct.pack(form, HUGE) + stream[struct.calcsize(form) :]
    call = f"tricodec.Codec(algorithm='{algorithm}', bitstream_kind=tricodec.nvcomp.{kind.name}).decode(stream)"

    said = outcome(stream, call, "import tricodec.nvcomp\nimport os\nos.environ['TRICODEC_DEVICE'] = 'cpu'")

    assert said.startswith("CorruptDataError")


@pytest.mark.needs_dali
@pytest.mark.parametrize("header", [False, True], ids=["bytes", "with header"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_samples_of_dali_that_lie_about_their_size_take_no_memory(algorithm: str, header: bool) -> None:
    call = "data[:] = [np.frombuffer(stream, np.uint8).copy()]; pipe.run()"
    setup = DALI.replace("HEADER", str(header)) + f"# a pipeline for {algorithm}"

    said = outcome(bytes(container(algorithm)), call, setup)

    assert "CorruptDataError" in said or "cannot hold 4294967288" in said
