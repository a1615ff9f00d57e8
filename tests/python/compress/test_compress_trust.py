# SPDX-License-Identifier: Apache-2.0
"""What a codec takes on trust: streams, and types of elements."""

from __future__ import annotations

import ctypes
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from programs import printed_by
from tricodec import compress, nvcomp
from tricodec.compress.numcodecs import Tricodec

VALUES = np.arange(1000, dtype="<i4")
ZARR = pytest.mark.skipif(sys.version_info < (3, 11), reason="Zarr 3 needs Python 3.11")


def is_refused(read: Callable[[], Any]) -> bool:
    """Whether Bitcomp, which NVIDIA's library decodes, is refused because it is not trusted."""
    try:
        result = read()
    except tricodec.RefusedError as error:
        return "trusted=True" in str(error)
    np.testing.assert_array_equal(np.frombuffer(bytes(result), "<i4"), VALUES)
    return False


@pytest.mark.parametrize(
    ("environment", "words", "refused"),
    [
        (None, {}, False),
        (None, {"trusted": False}, True),
        ("1", {}, False),
        ("0", {}, True),
        ("0", {"trusted": True}, False),
    ],
)
@pytest.mark.parametrize("kind", ["Codec", "numcodecs"])
def test_the_argument_goes_before_the_environment(
    kind: str, environment: str | None, words: dict[str, Any], refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRICODEC_TRUSTED", raising=False)
    if environment is not None:
        monkeypatch.setenv("TRICODEC_TRUSTED", environment)
    if kind == "Codec":
        codec: Any = tricodec.Codec(algorithm="Bitcomp", data_type="<i4", device="cpu", **words)
    else:
        codec = Tricodec("Bitcomp", data_type="<i4", **words)
    packed = bytes(codec.encode(VALUES))

    assert is_refused(lambda: codec.decode(packed)) is refused


@ZARR
@pytest.mark.parametrize("trusted", [True, False, None])
def test_zarr_reads_an_array_as_its_reader_trusts_it(
    trusted: bool | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import zarr
    from tricodec.compress.zarr import TricodecCodec
    from zarr.registry import register_codec

    monkeypatch.setenv("TRICODEC_TRUSTED", "0")
    register_codec("tricodec", TricodecCodec)
    codec = TricodecCodec(algorithm="Bitcomp", data_type="<i4", trusted=trusted)
    made = zarr.create_array(tmp_path / "a", shape=VALUES.shape, chunks=VALUES.shape, dtype="<i4", compressors=codec)
    made[:] = VALUES

    def read(array: Any) -> bytes:
        return bytes(array[:])

    assert is_refused(lambda: read(made)) is (trusted is not True)
    opened = zarr.open_array(tmp_path / "a", mode="r")
    assert is_refused(lambda: read(opened))
    assert "trusted" not in (tmp_path / "a/zarr.json").read_text()


_STRUCT = [("a", "<i4"), ("b", "<f8")]
_NESTED = [("x", [("y", ">u2")]), ("t", "M8[s]"), ("s", "U3"), ("v", "<f4", (2, 2))]

KEPT = [
    np.arange(4, dtype="c8"), np.arange(4, dtype=">c16"), np.arange(4, dtype="g"), np.array(["a", "bcd"]),
    np.array(["x"], ">U2"), np.array([b"a", b"bcd"]), np.array([b"a"]), np.arange(4).astype("M8[ns]"),
    np.arange(4).astype("m8[D]"), np.zeros(3, "V5"), np.ones(3, _STRUCT), np.ones(3, np.dtype(_STRUCT, align=True)),
    np.ones((2, 3), _NESTED), np.rec.array([(1, 2.0)], dtype=_STRUCT), np.arange(6, dtype=">i4").reshape(2, 3),
    np.array([True]), np.arange(12.0).reshape(3, 4)[:, ::2], np.array(5),
]  # fmt: skip


@pytest.mark.parametrize("array", KEPT, ids=lambda array: str(array.dtype))
def test_numpy_reads_what_as_array_took_and_what_decode_gave(array: Any) -> None:
    codec = nvcomp.Codec(algorithm="LZ4", device="cpu")

    wrapped = compress.as_array(array)
    decoded = np.asarray(codec.decode(codec.encode(array), data_type=array.dtype))

    assert wrapped.dtype == array.dtype
    assert np.asarray(wrapped).dtype == array.dtype
    assert np.asarray(wrapped).tobytes() == decoded.tobytes() == array.tobytes()
    assert (decoded.dtype, decoded.shape) == (array.dtype, (array.size,))


POINTERS: list[Any] = [
    np.array([object(), 1], object), np.zeros(2, [("a", "i4"), ("b", "O")]), memoryview(np.array([None], object)),
    (ctypes.py_object * 2)(1, 2), (ctypes.c_char_p * 2)(b"a", b"b"), (ctypes.c_void_p * 2)(1, 2),
    (ctypes.POINTER(ctypes.c_int) * 2)(), np.zeros(2, {"names": "ab", "formats": ["i4", "i4"], "offsets": [0, 2]}),
]  # fmt: skip

_CODEC = nvcomp.Codec(algorithm="LZ4", device="cpu")

TAKE: dict[str, Callable[[Any], Any]] = {
    "as_array": compress.as_array, "as_arrays": lambda array: compress.as_arrays([array]), "encode": _CODEC.encode,
    "batch": lambda array: _CODEC.encode([b"a", array]), "decode": _CODEC.decode, "inspect": _CODEC.inspect,
    "out": lambda array: _CODEC.encode(b"a", out=array), "bound": _CODEC.get_max_comp_buffer_size,
}  # fmt: skip


@pytest.mark.parametrize("array", POINTERS, ids=lambda array: str(getattr(array, "dtype", type(array).__name__)))
@pytest.mark.parametrize("take", TAKE)
def test_arrays_of_references_are_refused_by_every_call(array: Any, take: str) -> None:
    with pytest.raises(TypeError, match=r"references to Python objects|is not accepted, because"):
        TAKE[take](array)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"data": (0, False)}, "at address 0"), ({"data": (5,)}, "address, read_only"), ({"data": None}, "'data' None"),
    ({"data": (-1, False)}, "out of range"), ({"data": (2**64 - 2, False)}, "larger than any memory"),
    ({"shape": None}, "'shape' None"), ({"shape": (2.5,)}, "a tuple of ints"), ({"shape": (2**62,)}, "larger than any"),
    ({"typestr": None}, "'typestr' None"), ({"typestr": "|O8"}, "references"), ({"typestr": "<U0"}, "at least one"),
    ({"typestr": "|V8", "descr": [("a", "|O")]}, "references"), ({"mask": np.ones(4)}, "mask"),
    ({"typestr": "|V4", "descr": [("a", "<i8")]}, "as many bytes as 'typestr'"), ({"strides": 5}, "a tuple of ints"),
]  # fmt: skip


@pytest.mark.parametrize("attribute", ["__array_interface__", "__cuda_array_interface__"])
@pytest.mark.parametrize(("entries", "text"), WRONG)
def test_interfaces_that_describe_no_array_are_refused(attribute: str, entries: dict[str, Any], text: str) -> None:
    memory = np.zeros(16, np.uint8)
    entry = {"shape": (4,), "typestr": "<f4", "data": (memory.ctypes.data, False), "version": 3, **entries}

    with pytest.raises((TypeError, ValueError), match=text):
        compress.as_array(type("Given", (), {attribute: entry})())


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("tensor.data = None", "at address 0"), ("tensor.bits = 0", "0 bits"), ("tensor.code = 3", "type code 3"),
        ("tensor.bits = 24", "24 bits"), ("tensor.ndim = -1", "-1 axes"), ("tensor.shape = None", "without sizes"),
        ("tensor.lanes = 4", "4 lanes"), ("tensor.code = 6; tensor.bits = 64", "type code 6"),
    ],
)  # fmt: skip
def test_dlpack_tensors_that_describe_no_array_are_refused(change: str, text: str) -> None:
    program = f"""
    import ctypes as c, tricodec.compress
    class Tensor(c.Structure):
        _fields_ = [("data", c.c_void_p), ("device_type", c.c_int32), ("device_id", c.c_int32), ("ndim", c.c_int32),
                    ("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16), ("shape", c.POINTER(c.c_int64)),
                    ("strides", c.c_void_p), ("offset", c.c_uint64), ("context", c.c_void_p), ("deleter", c.c_void_p)]
    memory, shape = (c.c_float * 4)(), (c.c_int64 * 1)(4)
    tensor = Tensor(c.addressof(memory), 1, 0, 1, 2, 32, 1, shape)
    new = c.pythonapi.PyCapsule_New
    new.restype, new.argtypes = c.py_object, [c.c_void_p, c.c_char_p, c.c_void_p]
    assert tricodec.compress.from_dlpack(new(c.addressof(tensor), b"dltensor", None)).shape == (4,)
    {change}
    try:
        print(tricodec.compress.from_dlpack(new(c.addressof(tensor), b"dltensor", None)))
    except (TypeError, ValueError) as error:
        print(error)
    """
    assert text in printed_by(program)


@pytest.mark.parametrize("dtype", ["|O", "O", "object", np.dtype("O"), object])
def test_results_are_never_references(dtype: Any) -> None:
    packed = _CODEC.encode(np.arange(64, dtype=np.uint8))

    with pytest.raises(TypeError, match="object"):
        _CODEC.decode(packed, data_type=dtype)
    with pytest.raises(TypeError, match="object"):
        nvcomp.Codec(algorithm="Bitcomp", data_type=dtype)
    with pytest.raises(TypeError, match="object"):
        Tricodec("Bitcomp", data_type=dtype)


def test_npy_files_of_objects_are_refused() -> None:
    array = np.array([{}, 1], object)
    with pytest.raises(TypeError, match="references to Python objects"):
        _CODEC.encode_npy(array)
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    with pytest.raises(tricodec.UnsupportedError, match=r"\|O"):
        _CODEC.decode_npy(_CODEC.encode(file.getvalue()))
