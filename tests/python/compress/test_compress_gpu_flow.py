# SPDX-License-Identifier: Apache-2.0
"""How a GPU's batches are cut, waited for and fail, with stand-ins for the driver and for nvCOMP.

What the kernels write is tested on a GPU (test_compress_gpu.py). Here are things that a GPU does not do on demand.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from gpu_helpers import Run, build_fake_driver, build_fake_nvcomp, run_with_driver, runner_with_driver

pytestmark = pytest.mark.needs_kernels

_PRELUDE = """
import tricodec
from tricodec import nvcomp

MIB = 1 << 20
plans = ("FAKE_NVCOMP_SCRATCH", "FAKE_NVCOMP_FAIL", "FAKE_NVCOMP_CHUNK", "FAKE_CUDA_FAIL", "FAKE_CUDA_QUERY")
for name in plans:
    os.environ.pop(name, None)
open(os.environ["FAKE_NVCOMP_LOG"], "w").close()
rng = np.random.default_rng(1)
walk = np.cumsum(rng.integers(-2, 3, MIB)).astype("<i4").view(np.uint8)
host = tricodec.Codec(algorithm="LZ4", device="cpu")

def gpu(**options):
    return tricodec.Codec(algorithm="LZ4", device="cuda:0", **options)

def batches(kind):
    # The calls of nvCOMP: chunks and bytes of scratch memory of each.
    with open(os.environ["FAKE_NVCOMP_LOG"]) as log:
        return [tuple(map(int, line.split()[1:])) for line in log if line.split()[0] == kind]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the stand-ins."""
    folder = tmp_path_factory.mktemp("driver")
    build_fake_driver(folder)
    build_fake_nvcomp(folder)
    return folder


@pytest.fixture(scope="module")
def run(folder: Path) -> Iterator[Run]:
    library = folder / "libnvcomp.so.5"
    question = "from tricodec import _tricodec; print(_tricodec.gpu_compression_unavailable_reason(0))"
    answer = run_with_driver(folder, question, TRICODEC_LIBNVCOMP=str(library)).stdout.strip()
    assert answer == ""
    with runner_with_driver(
        folder,
        _PRELUDE,
        FAKE_CUDA_MEMORY=str(1 << 30),
        TRICODEC_LIBNVCOMP=str(library),
        FAKE_NVCOMP_LOG=str(folder / "nvcomp"),
    ) as started:
        yield started


@pytest.mark.parametrize("count", [1, 128])
def test_an_encode_copies_three_times_and_launches_one_kernel_of_ours(run: Run, count: int) -> None:
    run(f"""
    codec = gpu()
    arrays = [tricodec.compress.as_array(part).cuda() for part in np.split(walk, 4 * {count})[:{count}]]
    def encode():
        return codec.encode(arrays)[0].__cuda_array_interface__

    encode()
    before = len(logged_calls())
    encode()
    calls = [call[0] for call in logged_calls()[before:]]

    assert {{name: calls.count(name) for name in set(calls)}} == {{"copy": 3, "launch": 1, "record": 4}}, calls
    """)


def test_lack_of_memory_is_an_error_and_leaves_a_codec_that_works(run: Run) -> None:
    run("""
    codec = gpu()
    small = walk[:65536]
    packed = codec.encode(small)
    assert bytes(packed.cpu()) == bytes(host.encode(small))
    os.environ["FAKE_NVCOMP_SCRATCH"] = str(2048 * MIB)  # of one chunk: more than the GPU has

    for _ in range(3):
        error = raised(lambda: gpu().encode(small))
        assert isinstance(error, MemoryError), repr(error)
        assert "2147483648" in str(error) or "2048" in str(error), error
        assert isinstance(raised(lambda: gpu().decode(packed)), MemoryError)

    assert batches("compress") == [(1, 0)] and batches("decompress") == []  # nothing was called without its memory
    assert bytes(codec.encode(small).cpu()) == bytes(host.encode(small))
    del os.environ["FAKE_NVCOMP_SCRATCH"]
    assert bytes(gpu().decode(packed).cpu()) == bytes(small)
    """)


@pytest.mark.parametrize("call", ["compress", "scratch"])
@pytest.mark.parametrize(
    ("status", "error"),
    [(10, "ValueError"), (18, "ValueError"), (1000, "tricodec.DeviceError"), (10000, "RuntimeError")],
)
def test_a_status_of_a_call_is_an_error_with_its_number(run: Run, call: str, status: int, error: str) -> None:
    run(f"""
    os.environ["FAKE_NVCOMP_FAIL"] = "{call}:{status}"
    codec = gpu()

    error = raised(lambda: codec.encode(walk).size)

    assert isinstance(error, {error}), repr(error)
    assert str(error).endswith(": code={status}."), error
    del os.environ["FAKE_NVCOMP_FAIL"]
    assert bytes(codec.encode(walk).cpu()) == bytes(host.encode(walk))
    """)


def test_a_chunk_that_cannot_be_compressed_is_raised_at_every_look(run: Run) -> None:
    run("""
    os.environ["FAKE_NVCOMP_CHUNK"] = "compress:7:19"

    whole, other = gpu().encode([walk, walk[:10]])

    for look in (lambda: whole.size, lambda: other.size, whole.cpu, lambda: other.__cuda_array_interface__):
        assert "code=19" in str(raised(look))
    """)


@pytest.mark.parametrize("status", [12, 15])
def test_damage_names_the_stream_at_every_look(run: Run, status: int) -> None:
    run(f"""
    streams = [host.encode(data).cuda() for data in (walk[:100_000], walk[:200_000], walk[:5])]
    os.environ["FAKE_NVCOMP_CHUNK"] = "decompress:3:{status}"  # the second of the second stream

    results = gpu().decode(streams)

    for result in results + results:
        error = raised(lambda: np.asarray(result.cpu()))
        assert isinstance(error, tricodec.CorruptDataError), repr(error)
        assert "stream 1 of 3" in str(error) and "code={status}" in str(error), error
    """)


def test_a_success_with_fewer_bytes_than_the_table_says_is_damage(run: Run) -> None:
    """NVIDIA's decoders report success for some damaged chunks; the sizes tell."""
    run("""
    packed = np.array(host.encode(walk[:100_000]))
    short = np.array(host.encode(walk[:90_000]))
    packed[16:24] = short[16:24]  # says 90,000 bytes; its last chunk has more

    error = raised(lambda: gpu().decode(packed).cpu())

    assert isinstance(error, tricodec.CorruptDataError) and "a chunk is damaged" in str(error), repr(error)
    """)


def test_encode_waits_for_nothing_and_decode_for_the_headers(run: Run) -> None:
    """Nothing that is queued is ever done here, and a caller that sleeps until it is fails."""
    run("""
    codec = gpu()
    sources = [nvcomp.as_array(data).cuda() for data in (walk, walk[:7])]
    [array.size for array in codec.encode(sources)]
    os.environ["FAKE_CUDA_FAIL"] = "cuEventSynchronize:719"
    os.environ["FAKE_CUDA_QUERY"] = "600"

    packed = codec.encode(sources)
    assert "LAUNCH_FAILED" in str(raised(lambda: packed[0].size))

    del os.environ["FAKE_CUDA_FAIL"]
    packed = codec.encode(sources)
    [array.size for array in packed]
    os.environ["FAKE_CUDA_FAIL"] = "cuEventSynchronize:719"
    assert "LAUNCH_FAILED" in str(raised(lambda: codec.decode(packed)))
    """)


@pytest.mark.parametrize("call", ["cuMemcpyAsync:719", "cuMemcpyAsync:719:1", "cuLaunchKernel:719"])
def test_a_gpu_that_fails_in_the_middle_is_a_device_error(run: Run, call: str) -> None:
    run(f"""
    source = nvcomp.as_array(walk).cuda()
    codec = gpu()
    codec.encode(source).size
    os.environ["FAKE_CUDA_FAIL"] = "{call}"

    error = raised(lambda: codec.encode(source).size)

    assert isinstance(error, tricodec.DeviceError), repr(error)
    del os.environ["FAKE_CUDA_FAIL"]
    assert bytes(codec.encode(source).cpu()) == bytes(host.encode(walk))
    """)


@pytest.mark.parametrize(
    ("version", "answers"),
    [(4999, False), (5000, True), (5399, True), (5400, False), (6000, True), (6099, True), (6100, False)],
)
def test_versions_of_the_library_that_are_not_known_are_refused(folder: Path, version: int, answers: bool) -> None:
    library = folder / "libnvcomp.so.5"
    question = "from tricodec import _tricodec; print(_tricodec.gpu_compression_unavailable_reason(0))"

    said = run_with_driver(
        folder, question, TRICODEC_LIBNVCOMP=str(library), FAKE_NVCOMP_VERSION=str(version)
    ).stdout.strip()

    if answers:
        assert said == ""
    else:
        assert f"is of version {version // 1000}.{version % 1000 // 100}; 5.0 to 5.3 and 6.0 are supported" in said
