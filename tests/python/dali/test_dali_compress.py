# SPDX-License-Identifier: Apache-2.0
"""fn.tricodec.compress and fn.tricodec.decompress give and take the bytes of tricodec.Codec."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tricodec
from dali_testing import PerSample, operator_pipeline
from programs import limits

pytestmark = pytest.mark.needs_dali

EXECUTORS = [True, False]


def run(operator: str, batch: list[np.ndarray], *, runs: int = 1, exec_dynamic: bool = True, **arguments: Any) -> Any:
    """The samples that one operator gives for a batch, with the pipeline's output."""
    pipe = operator_pipeline(operator, batch, pipeline_options={"exec_dynamic": exec_dynamic}, **arguments)
    for _ in range(runs):
        (output,) = pipe.run()
    return [np.array(output.at(i)) for i in range(len(batch))]


def arrays_of(dtype: str) -> list[np.ndarray]:
    """Four arrays, one empty and one of a single element."""
    values = np.cumsum(np.random.default_rng(3).integers(-2, 3, (1300, 50)), axis=0)
    return [values[:size].astype(dtype) for size in (1200, 0, 1, 300)] + [values[:1, :1].astype(dtype)]


def bytes_array(data: Any) -> np.ndarray:
    return np.frombuffer(bytes(data), np.uint8).copy()


SETTINGS_BY_SAMPLE: list[tuple[dict[str, Any], dict[str, list[Any]]]] = [
    ({"algorithm": "Deflate"}, {"algorithm_type": [5, 0, 1, 4]}),
    ({"algorithm": "Zstd", "bitstream_kind": "RAW"}, {"level": [19, 1, 1, -3]}),
    ({"algorithm": "LZ4"}, {"level": [12, 0, 3, 0], "uncomp_chunk_size": [1000, 65536, 1000, 200_000]}),
    ({"algorithm": "Cascaded", "data_type": "<i4"}, {"num_rles": [0, 2, 1, 7], "num_deltas": [0, 1, 2, 3]}),
]


@pytest.mark.parametrize("exec_dynamic", EXECUTORS, ids=["dynamic", "static"])
@pytest.mark.parametrize(("common", "varying"), SETTINGS_BY_SAMPLE, ids="-".join)
def test_settings_may_differ_by_sample(
    common: dict[str, Any], varying: dict[str, list[Any]], exec_dynamic: bool
) -> None:
    walk = np.cumsum(np.random.default_rng(5).integers(-2, 3, 120_000)).astype("<i4")
    batch = [walk, walk[:70_000].copy(), walk[:0].copy(), walk[:999].copy()]

    tensors = {name: PerSample([np.int64(value) for value in values]) for name, values in varying.items()}
    packed = run("compress", batch, **common, **tensors, exec_dynamic=exec_dynamic, runs=2)

    words = dict(common)
    if "bitstream_kind" in words:
        words["bitstream_kind"] = tricodec.compress.BitstreamKind[words["bitstream_kind"]]
    for i, (sample, array) in enumerate(zip(packed, batch, strict=True)):
        own = {name: values[i] for name, values in varying.items()}
        assert sample.tobytes() == bytes(tricodec.Codec(device="cpu", **words, **own).encode(array)), own
    assert packed[0].size != run("compress", batch[:1], **common)[0].size  # the first has not the default

    restored = run("decompress", packed, **common, **tensors)  # which takes no notice of them
    assert [sample.tobytes() for sample in restored] == [array.tobytes() for array in batch]


@pytest.mark.parametrize("dtype", ["|u1", "<u2", "<f2", "<f4", "<f8"])
def test_dtype_and_shape_come_from_the_arguments_or_from_the_header(dtype: str) -> None:
    from nvidia.dali import types

    name = {"|u1": "UINT8", "<u2": "UINT16", "<f2": "FLOAT16", "<f4": "FLOAT", "<f8": "FLOAT64"}[dtype]
    batch = arrays_of(dtype)[:4]

    told = run("decompress", run("compress", batch, algorithm="LZ4"), dtype=getattr(types, name), shape=[-1, 50])
    said = run("decompress", run("compress", batch, algorithm="LZ4", header=True), header=True)

    for results in (told, said):
        for result, array in zip(results, batch, strict=True):
            assert result.dtype == array.dtype
            np.testing.assert_array_equal(result, array)


@pytest.mark.parametrize("header", [False, True])
def test_damaged_data_fail_the_batch_and_name_the_sample(header: bool) -> None:
    good = bytes_array(tricodec.Codec(algorithm="Zstd", device="cpu").encode_npy(np.arange(50_000)))
    bent = good.copy()
    bent[len(bent) // 2 :] ^= 0x5A
    for bad in (bent, good[:-9], bytes_array(b"no container" * 30), bytes_array(b"")):
        with pytest.raises(RuntimeError, match="Sample 1 of the batch of 3: "):
            run("decompress", [good, bad, good], header=header)


@pytest.mark.parametrize("header", [False, True])
def test_the_pipeline_goes_on_after_a_damaged_batch(header: bool) -> None:
    from nvidia.dali import Pipeline, fn

    array = np.arange(10_000, dtype=np.int32)
    good = bytes_array(tricodec.Codec(algorithm="LZ4", device="cpu").encode_npy(array))
    batches = iter([[good], [good[:50]], [good]])
    pipe = Pipeline(batch_size=1, num_threads=2, device_id=None, prefetch_queue_depth=1)
    with pipe:
        encoded = fn.external_source(source=lambda: next(batches), batch=True)
        pipe.set_outputs(fn.tricodec.decompress(encoded, header=header))
    pipe.build()

    pipe.run()
    with pytest.raises(RuntimeError, match="Sample 0"):
        pipe.run()
    (output,) = pipe.run()

    assert np.array(output.at(0)).nbytes >= array.nbytes


def test_an_expansion_past_the_limit_is_refused_before_memory_is_taken() -> None:
    bomb = bytes_array(tricodec.Codec(algorithm="Zstd", device="cpu").encode(bytes(50 << 20)))
    assert bomb.size < 1 << 17
    refusal = r"Sample 0 of the batch of 2: the data expand to 52428800 bytes.*limit"
    with limits(max_output_bytes=10 << 20), pytest.raises(RuntimeError, match=refusal):
        run("decompress", [bomb, bomb])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"shape": [7, -1]}, r"Sample 0 of the batch of 2: the data expand to 400 bytes.*do not fill shape \[7, -1\]"),
        ({"shape": [3, 3]}, r"do not fill shape \[3, 3\]"),
        ({"header": True, "shape": [100]}, "header=True takes dtype and shape from the data"),
        ({"algorithm": "LZMA"}, r"Unknown algorithm: \"LZMA\".*Zstd"),
        ({"bitstream_kind": "raw"}, "do not contain the algorithm; pass algorithm"),
        ({"uncomp_chunk_size": -4}, "uncomp_chunk_size is -4"),
    ],
    ids=str,
)
def test_arguments_that_do_not_fit_are_value_errors(arguments: dict[str, Any], text: str) -> None:
    packed = run("compress", [np.arange(100, dtype="<i4"), np.arange(101, dtype="<i4")], algorithm="LZ4")

    with pytest.raises(ValueError, match=text):
        run("decompress", packed, **arguments)


def test_dynamic_mode_has_the_operators() -> None:
    import nvidia.dali.experimental.dynamic as ndd

    array = np.arange(600, dtype=np.int32).reshape(20, 30)

    packed = ndd.tricodec.compress(array, algorithm="Zstd", header=True)
    back = np.array(ndd.tricodec.decompress(packed, header=True).cpu())

    np.testing.assert_array_equal(back, array)
