# SPDX-License-Identifier: Apache-2.0
"""fn.tricodec.compress device "gpu" and fn.tricodec.decompress "mixed" and "gpu" give what the CPU gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tricodec
from dali_testing import constant_source

pytestmark = [pytest.mark.needs_dali, pytest.mark.needs_gpu]

ALGORITHMS = ["LZ4", "Snappy", "GDeflate", "Deflate", "Gzip", "Zstd", "Bitcomp", "Cascaded"]
EXECUTORS = [True, False]


def run(batch: list[np.ndarray], build: Any, *, exec_dynamic: bool = True, runs: int = 2) -> list[np.ndarray]:
    """The samples that `build` makes of a batch on the CPU, copied to the host; the last of several equal runs."""
    import tricodec.dali  # noqa: F401  (registers the operators)
    from nvidia.dali import Pipeline, fn

    pipe = Pipeline(batch_size=len(batch), num_threads=4, device_id=0, exec_dynamic=exec_dynamic)
    with pipe:
        pipe.set_outputs(build(fn.external_source(source=constant_source(batch), batch=True)))
    pipe.build()
    for _ in range(runs):
        (output,) = pipe.run()
    output = output.as_cpu()
    return [np.array(output.at(i)) for i in range(len(batch))]


def operator(name: str, **arguments: Any) -> Any:
    def build(data: Any) -> Any:
        from nvidia.dali import fn

        return getattr(fn.tricodec, name)(data, **arguments)

    return build


def on_gpu(name: str, **arguments: Any) -> Any:
    return lambda data: operator(name, **arguments)(data.gpu())


def arrays() -> list[np.ndarray]:
    walk = np.cumsum(np.random.default_rng(2).integers(-2, 3, (3000, 40)), axis=0).astype("<i4")
    return [walk, walk[:1], walk[:0], walk[:777], *(walk[n : n + 64] for n in range(20))]


@pytest.mark.parametrize("exec_dynamic", EXECUTORS, ids=["dynamic", "static"])
@pytest.mark.parametrize("algorithm", [*ALGORITHMS, "ANS"])
def test_arrays_are_compressed_on_the_gpu_and_come_back(algorithm: str, exec_dynamic: bool) -> None:
    batch = arrays() if algorithm != "ANS" else [array for array in arrays() if array.size]

    packed = run(batch, on_gpu("compress", algorithm=algorithm), exec_dynamic=exec_dynamic)
    if algorithm != "ANS":  # which only GPUs do
        codec = tricodec.Codec(algorithm=algorithm, device="cpu")
        assert [bytes(codec.decode(sample)) for sample in packed] == [array.tobytes() for array in batch]

    for build in (operator("decompress", device="mixed", trusted=True), on_gpu("decompress", trusted=True)):
        restored = run(packed, build, exec_dynamic=exec_dynamic)
        assert [sample.tobytes() for sample in restored] == [array.tobytes() for array in batch]


@pytest.mark.parametrize("trusted", [True, False], ids=["trusted", "not"])
@pytest.mark.parametrize("dtype", ["|u1", "<f2", "<f4", "<i8"])
def test_headers_keep_dtype_and_shape(dtype: str, trusted: bool) -> None:
    batch = [array.astype(dtype) for array in arrays()[:4]]

    packed = run(batch, on_gpu("compress", algorithm="LZ4", header=True))
    codec = tricodec.Codec(algorithm="LZ4", device="cpu")
    for sample, array in zip(packed, batch, strict=True):
        np.testing.assert_array_equal(codec.decode_npy(sample), array)

    words = {"header": True, "trusted": trusted}
    for build in (operator("decompress", device="mixed", **words), on_gpu("decompress", **words)):
        for sample, array in zip(run(packed, build), batch, strict=True):
            assert (sample.dtype, sample.shape) == (array.dtype, array.shape)
            np.testing.assert_array_equal(sample, array)


@pytest.mark.parametrize("header", [False, True])
def test_settings_may_differ_by_sample(header: bool) -> None:
    import tricodec.dali
    from nvidia.dali import fn

    batch = arrays()[:6]
    types = [0, 5, 1, 5, 0, 2]
    sizes = [4096, 65536, 4096, 4096, 8192, 65536]

    def by_sample(data: Any) -> Any:
        varying = {
            name: fn.external_source(source=constant_source([np.array(value) for value in values]), batch=True)
            for name, values in (("algorithm_type", types), ("uncomp_chunk_size", sizes))
        }
        return fn.tricodec.compress(data.gpu(), algorithm="Deflate", header=header, **varying)

    packed = run(batch, by_sample)

    for sample, array, kind, size in zip(packed, batch, types, sizes, strict=True):
        words = {"algorithm": "Deflate", "algorithm_type": kind, "uncomp_chunk_size": size}
        (alone,) = run([array], on_gpu("compress", header=header, **words))
        # nvCOMP's threads race for matches: the bytes differ from run to run, their number hardly does.
        assert abs(sample.size - alone.size) <= 16 + alone.size // 100
        codec = tricodec.Codec(algorithm="Deflate", device="cpu")
        assert bytes(codec.decode(sample)).endswith(array.tobytes())
        assert codec.inspect(sample).chunk_bytes == size


@pytest.mark.parametrize("trusted", [True, False], ids=["trusted", "not"])
@pytest.mark.parametrize("device", ["mixed", "gpu"])
def test_damaged_headers_name_the_sample_and_leave_the_gpu_usable(device: str, trusted: bool) -> None:
    good = np.asarray(tricodec.Codec(algorithm="LZ4", device="cpu").encode(np.arange(9000))).copy()
    bad = good.copy()
    bad[16:24] = 0xFF  # the number of bytes
    words = {"trusted": trusted}
    build = operator("decompress", device="mixed", **words) if device == "mixed" else on_gpu("decompress", **words)

    with pytest.raises(RuntimeError, match="Sample 1 of the batch of 3"):
        run([good, bad, good], build)
    assert run([good], build)[0].nbytes == 72_000
