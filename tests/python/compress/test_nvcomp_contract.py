# SPDX-License-Identifier: Apache-2.0
"""nvCOMP's documented Python interface, item by item: the module and Codec (N1 to N33)."""

from __future__ import annotations

import pickle
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest
import tricodec
from programs import printed_by
from tricodec import nvcomp

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from nvidia import nvcomp
import nvidia.nvcomp as again
from nvidia.nvcomp.external_memory import ExternalMemory
print(nvcomp.__tricodec__, again is nvcomp, ExternalMemory is nvcomp.ExternalMemory, nvcomp.__version__,
      bytes(nvcomp.Codec().decode(nvcomp.Codec(algorithm='LZ4').encode(b'abc')).cpu()))
"""


def test_n2_the_distribution_gives_the_names_as_nvidia_nvcomp(tmp_path: Path) -> None:
    package = tmp_path / "nvidia"
    shutil.copytree(Path(__file__).parents[3] / "packaging/nvcomp/nvidia/nvcomp", package / "nvcomp")
    (package / "__init__.py").touch()

    assert printed_by(PROGRAM, tmp_path) == "True True True 5.3.0 b'abc'\n"


def test_n3_bitstream_kinds() -> None:
    kinds = nvcomp.BitstreamKind
    assert repr(kinds.RAW) == "<BitstreamKind.RAW: 1>"
    assert (int(kinds.RAW), kinds.RAW.name) == (1, "RAW")
    assert kinds.RAW != 1
    assert pickle.loads(pickle.dumps(kinds.RAW)) is kinds.RAW


def test_the_hardware_backend_is_refused_on_every_engine() -> None:
    hardware = nvcomp.DecompressBackend.NVCOMP_DECOMPRESS_BACKEND_HARDWARE
    for device in ("cpu", "auto"):
        with pytest.raises(tricodec.UnsupportedError, match="NVCOMP_DECOMPRESS_BACKEND_DEFAULT"):
            nvcomp.Codec(algorithm="LZ4", decompress_backend=hardware, device=device)
    codec = nvcomp.Codec(
        algorithm="LZ4",
        decompress_backend=nvcomp.DecompressBackend.NVCOMP_DECOMPRESS_BACKEND_CUDA,
        use_de_sort=True,
        device="cpu",
    )
    assert bytes(codec.decode(codec.encode(b"abc"))) == b"abc"
    with pytest.raises(TypeError, match="decompress_backend"):
        nvcomp.Codec(decompress_backend=1)


def test_n15_algorithm_names_have_no_case() -> None:
    assert bytes(nvcomp.Codec(algorithm="gDeFlAtE").encode(b"a" * 99))
    with pytest.raises(ValueError, match='Unknown algorithm: "NOPE"'):
        nvcomp.Codec(algorithm="NOPE")
    with pytest.raises(ValueError, match="no algorithm"):
        nvcomp.Codec().encode(b"abc")


@pytest.mark.parametrize("wrong", [1, "RAW", 1.0])
def test_n19_the_bitstream_kind_must_be_the_enum(wrong: object) -> None:
    with pytest.raises(TypeError, match="bitstream_kind"):
        nvcomp.Codec(algorithm="LZ4", bitstream_kind=wrong)


@pytest.mark.parametrize(
    ("policy", "stores", "verifies", "demands"),
    [
        (nvcomp.NO_COMPUTE_NO_VERIFY, False, False, False),
        (nvcomp.COMPUTE_AND_NO_VERIFY, True, False, False),
        (nvcomp.NO_COMPUTE_AND_VERIFY_IF_PRESENT, False, True, False),
        (nvcomp.COMPUTE_AND_VERIFY_IF_PRESENT, True, True, False),
        (nvcomp.COMPUTE_AND_VERIFY, True, True, True),
    ],
    ids=lambda value: value.name if isinstance(value, nvcomp.ChecksumPolicy) else "",
)
def test_n20_what_each_checksum_policy_does(
    policy: nvcomp.ChecksumPolicy, stores: bool, verifies: bool, demands: bool
) -> None:
    data = bytes(range(256)) * 4
    codec = nvcomp.Codec(algorithm="LZ4", checksum_policy=policy)
    plain = bytes(nvcomp.Codec(algorithm="LZ4").encode(data))
    stored = bytearray(nvcomp.Codec(algorithm="LZ4", checksum_policy=nvcomp.COMPUTE_AND_NO_VERIFY).encode(data))
    assert codec.inspect(codec.encode(data)).has_checksums is stores

    stored[struct.unpack_from("<I", stored, 56)[0] + 40] ^= 1  # a literal: still an LZ4 block

    for _ in range(2):  # and not only at the first look, as in nvCOMP 5.3
        if verifies:
            with pytest.raises(tricodec.CorruptDataError, match=r"Checksum doesn't match.*code=13"):
                codec.decode(bytes(stored))
        else:
            assert bytes(codec.decode(bytes(stored))) != data
    if demands:
        with pytest.raises(tricodec.CorruptDataError, match="code=14"):
            codec.decode(plain)
    else:
        assert bytes(codec.decode(plain)) == data


@pytest.mark.parametrize("kind", [nvcomp.RAW, nvcomp.WITH_UNCOMPRESSED_SIZE])
@pytest.mark.parametrize("policy", list(nvcomp.ChecksumPolicy)[1:])
def test_n21_checksums_need_the_container(kind: nvcomp.BitstreamKind, policy: nvcomp.ChecksumPolicy) -> None:
    with pytest.raises(ValueError, match="Only ChecksumPolicy::NoComputeNoVerify is allowed"):
        nvcomp.Codec(algorithm="LZ4", bitstream_kind=kind, checksum_policy=policy)


@pytest.mark.parametrize(
    ("algorithm", "wrong"), [("GDeflate", 6), ("GDeflate", -1), ("Deflate", 9), ("Gzip", 6), ("Bitcomp", 2)]
)
def test_n23_n24_n25_other_algorithm_types_are_refused(algorithm: str, wrong: int) -> None:
    with pytest.raises(ValueError, match=rf"Unknown algorithm type.*{wrong}"):
        nvcomp.Codec(algorithm=algorithm, algorithm_type=wrong)


def test_n27_cascadeds_layers_are_in_the_chunk() -> None:
    data = np.repeat(np.arange(500, dtype="<u2"), 9)

    stream = bytes(
        nvcomp.Codec(
            algorithm="Cascaded",
            num_rles=1,
            num_deltas=2,
            use_bitpack=False,
            data_type="<u2",
            bitstream_kind=nvcomp.RAW,
        ).encode(data)
    )

    assert stream[:4] == bytes([1, 2, 0, 3])
    for name, wrong in [("num_rles", 8), ("num_rles", -1), ("num_deltas", 4)]:
        with pytest.raises(ValueError, match=name):
            nvcomp.Codec(algorithm="Cascaded", **{name: wrong})


def test_n30_n32_element_types_of_results() -> None:
    codec = nvcomp.Codec(algorithm="LZ4")
    packed = codec.encode(np.arange(6, dtype="<u4"))

    assert packed.dtype == np.uint8
    assert codec.decode(packed).dtype == np.uint8
    assert np.asarray(codec.decode(packed, "<u4")).tolist() == list(range(6))
    assert codec.decode(packed, data_type="<f8").shape == (3,)
    with pytest.raises(ValueError, match="Buffer size not aligned with size of data type"):
        codec.decode(codec.encode(b"abc"), "<u4")


def test_out_that_shares_memory_with_what_is_read_or_written_is_refused() -> None:
    codec = nvcomp.Codec(algorithm="LZ4", device="cpu")
    memory = np.zeros(4000, np.uint8)
    data, behind = memory[:1000], memory[1000:]

    with pytest.raises(ValueError, match="out shares memory"):
        codec.encode(data, out=data)
    with pytest.raises(ValueError, match="out shares memory"):
        codec.encode(data, out=memory[999:])
    packed = codec.encode(data, out=behind)
    with pytest.raises(ValueError, match="out shares memory"):
        codec.decode(packed, out=behind[:1000])
    with pytest.raises(ValueError, match="out shares memory"):
        codec.decode([packed, packed], out=[data, data])

    assert bytes(codec.decode(packed, out=data)) == bytes(1000)
    assert bytes(codec.encode([data, data], out=[behind[:1500], behind[1500:]])[1]) == bytes(codec.encode(data))


def test_configs_tell_sizes() -> None:
    codec = nvcomp.Codec(algorithm="LZ4")
    data = b"x" * 100000

    config = codec.compression_config(len(data))
    packed = codec.encode(data, compression_config=config)

    assert packed.size <= config.max_compressed_sizes[0]
    for source in (config, packed):
        unpack = codec.decompression_config(source)
        assert unpack.uncompressed_sizes == (100000,)
        assert bytes(codec.decode(packed, decompression_config=unpack)) == data
    assert codec.compression_config([1, 2]).uncompressed_sizes == (1, 2)
    with pytest.raises(ValueError, match="greater than zero"):
        codec.compression_config(0)
    with pytest.raises(ValueError, match="expands to 100000"):
        codec.decode(packed, decompression_config=codec.decompression_config(codec.compression_config(5)))


def test_a_with_block_ends_the_codec() -> None:
    with nvcomp.Codec(algorithm="LZ4") as codec:
        packed = codec.encode(b"abc")
        assert codec.engine == "cpu"

    with pytest.raises(ValueError, match="closed"):
        codec.decode(packed)
