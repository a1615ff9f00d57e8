# SPDX-License-Identifier: Apache-2.0
"""libnvcomp 6.0 beside 5: how it is called, with stand-ins for the driver and for nvCOMP, and NVIDIA's on the CPU.

NVIDIA's kernels are tested on a GPU (gpu/test_nvcomp_releases_gpu.py).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from compress_data import as_version_6, corpus
from gpu_helpers import Run, build_fake_driver, build_fake_nvcomp, runner_with_driver
from programs import printed_by
from tricodec import nvcomp
from wheels import library_of, wheel_site

_PRELUDE = """
import struct
import tricodec
from tricodec import nvcomp

open(os.environ["FAKE_NVCOMP_LOG"], "w").close()
rng = np.random.default_rng(1)
walk = bytes(np.cumsum(rng.integers(-2, 3, 1 << 18)).astype("<i4").view(np.uint8))
host = tricodec.Codec(algorithm="LZ4", device="cpu")

def gpu(algorithm="LZ4", **options):
    return tricodec.Codec(algorithm=algorithm, device="cuda:0", **options)

def calls(kind):
    with open(os.environ["FAKE_NVCOMP_LOG"]) as log:
        return [tuple(map(int, line.split()[1:])) for line in log if line.split()[0] == kind]
"""


def started(folder_of: pytest.TempPathFactory, release: int) -> Iterator[Run]:
    folder = folder_of.mktemp(f"driver{release}")
    library = build_fake_nvcomp(folder, release)
    build_fake_driver(folder)
    with runner_with_driver(
        folder, _PRELUDE, TRICODEC_LIBNVCOMP=str(library), FAKE_NVCOMP_LOG=str(folder / "nvcomp")
    ) as run:
        yield run


@pytest.fixture(scope="module")
def run_5(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    yield from started(tmp_path_factory, 5)


@pytest.fixture(scope="module")
def run_6(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    yield from started(tmp_path_factory, 6)


def of_algorithm(stream: bytes, number: int, spec: bytes) -> bytes:
    """A container of version 5 of LZ4 that says it has another algorithm, with its options there."""
    return stream[:6] + bytes([number]) + stream[7:64] + spec.ljust(8, b"\0") + stream[72:]


LZ4_5 = bytes(nvcomp.Codec(algorithm="LZ4", device="cpu").encode(corpus()["text"][:200_001]))
ANS_5 = of_algorithm(LZ4_5, 2, b"")
ANS_6 = as_version_6(ANS_5, bytes(16))
CASCADED_6 = as_version_6(of_algorithm(LZ4_5, 4, b""), bytes(40))


@pytest.mark.needs_kernels
@pytest.mark.parametrize("kind", ["NVCOMP_NATIVE", "RAW", "WITH_UNCOMPRESSED_SIZE"])
@pytest.mark.parametrize("release", ["run_5", "run_6"])
def test_streams_of_each_release_are_those_of_the_cpu(release: str, kind: str, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue(release)(f"""
    words = {{"bitstream_kind": nvcomp.BitstreamKind.{kind}}}
    datas = [walk[:size] for size in (0, 1, 65535, 65536, 65537, 1_000_001)] + [rng.bytes(300_001)]
    cpu = tricodec.Codec(algorithm="LZ4", device="cpu", **words)

    packed = gpu(**words).encode(datas)

    assert all(array.buffer_kind is nvcomp.ArrayBufferKind.STRIDED_DEVICE for array in packed)
    assert [bytes(array.cpu()) for array in packed] == [bytes(array) for array in cpu.encode(datas)]
    assert [bytes(array.cpu()) for array in gpu(**words).decode(packed)] == datas
    """)


@pytest.mark.needs_kernels
@pytest.mark.parametrize(("data_type", "number"), [("|u1", 1), ("<f2", 10), ("|f1", 9)])
def test_ans_of_libnvcomp_6_is_in_containers_of_version_6(run_6: Run, data_type: str, number: int) -> None:
    run_6(f"""
    codec = gpu("ANS", data_type={data_type!r})
    for data in (walk[:200_000], b""):
        packed = codec.encode(data)
        stream = bytes(packed.cpu())

        count = -(-len(data) // 65536)
        fields = struct.unpack_from("<IBBBxQQQQI", stream)
        data_offset = -(-(72 + 16 * count) // 16) * 16
        assert fields[:4] == (0x52911327, 6, 0, 2) and fields[5:] == (len(data), count, 65536, data_offset), fields
        offsets = struct.unpack_from("<%dQ" % count, stream, 72)
        assert all(offset % 16 == 0 for offset in offsets), offsets  # NVIDIA's reader decodes the chunks where they are
        assert len(stream) == fields[8] + fields[4] and stream[52] == 1
        assert struct.unpack_from("<II", stream, 56) == (0, {number})
        assert bytes(codec.decode(packed).cpu()) == data
        assert bytes(tricodec.Codec(device="cuda:0").decode(stream).cpu()) == data
        assert tricodec.Codec(device="cpu").inspect(stream).container_version == 6
        assert len(stream) <= codec.get_max_comp_buffer_size(data)
    assert calls("options") == [(0, {number})]
    assert set(calls("backend")) == {{(0, 255)}}  # 6.0 takes the type from the stream
    """)


@pytest.mark.needs_kernels
def test_ans_and_cascaded_of_another_release_are_refused(run_5: Run, run_6: Run) -> None:
    for run, theirs, streams in ((run_5, "6", (ANS_6, CASCADED_6)), (run_6, "5", (ANS_5,))):
        run(f"""
        for stream in {streams!r}:
            error = raised(lambda: tricodec.Codec(device="cuda:0").decode(stream))
            assert isinstance(error, tricodec.UnsupportedError), repr(error)
            assert "of nvCOMP {theirs} is another stream than that of" in str(error), error
            assert "install nvidia-libnvcomp-cu13 of version {theirs}" in str(error), error
        assert calls("decompress") == []
        """)


@pytest.mark.needs_kernels
def test_cascaded_of_nvcomp_6_is_read_by_libnvcomp_6_alone(run_6: Run) -> None:
    text = corpus()["text"][:200_001]
    run_6(f"""
    stream = {CASCADED_6!r}
    assert bytes(tricodec.Codec(device="cuda:0").decode(stream).cpu()) == {text!r}
    assert calls("backend") == [(0, 0)]
    for codec in (tricodec.Codec(device="cpu"), tricodec.Codec(algorithm="Cascaded", device="cpu")):
        error = raised(lambda: codec.decode(stream))
        assert isinstance(error, tricodec.UnsupportedError) and "Cascaded of nvCOMP 6" in str(error), repr(error)
    """)


def test_an_installed_wheel_of_libnvcomp_6_is_found() -> None:
    code = """
    import sys, types
    sys.modules["nvidia"] = types.ModuleType("nvidia")
    sys.modules["nvidia"].__path__ = [sys.argv[1]]  # as if no other package of NVIDIA's were installed
    import tricodec.compress as c
    print(c.use_installed_library(), c.compression_algorithms()["Bitcomp"] == "")
    """
    site = wheel_site("6.0")
    assert printed_by(code, site / "nvidia").split() == [str(library_of("6.0")), "True"]
