# SPDX-License-Identifier: Apache-2.0
"""nvCOMP's arrays and allocators (N34 to N51): memory of every kind goes in and out without a copy."""

from __future__ import annotations

import ctypes
import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from programs import printed_by
from tricodec import nvcomp


def test_n34_array_interfaces() -> None:
    source = np.arange(24, dtype="<i4").reshape(4, 6)
    array = nvcomp.as_array(source)
    address = source.__array_interface__["data"][0]

    assert array.__cuda_array_interface__ == {
        "shape": (4, 6), "typestr": "<i4", "data": (address, False), "strides": None, "version": 3, "stream": 1,
    }  # fmt: skip
    assert np.asarray(array).__array_interface__["data"][0] == address
    assert nvcomp.as_array(source[:, ::2]).__array_interface__["strides"] == (24, 8)


def test_n35_n36_dlpack_shares_memory() -> None:
    source = np.arange(10, dtype="<f4")
    array = nvcomp.as_array(source)

    assert array.__dlpack_device__() == (1, 0)
    assert np.shares_memory(np.from_dlpack(array), source)
    again = nvcomp.from_dlpack(array.to_dlpack())
    assert np.shares_memory(np.asarray(again), source)


def test_a_dlpack_export_copies_when_asked_and_marks_read_only_memory() -> None:
    array = nvcomp.as_array(np.arange(4))

    shared = nvcomp.from_dlpack(array.__dlpack__(max_version=(1, 0)))
    copied = nvcomp.from_dlpack(array.__dlpack__(max_version=(1, 0), copy=True))

    assert np.shares_memory(np.asarray(shared), np.asarray(array))
    assert not np.shares_memory(np.asarray(copied), np.asarray(array))
    np.testing.assert_array_equal(np.asarray(copied), np.arange(4))
    assert not memoryview(shared).readonly
    assert memoryview(nvcomp.from_dlpack(nvcomp.as_array(b"abc").__dlpack__(max_version=(1, 0)))).readonly


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "c8", "?"])
def test_dtypes_are_kept(dtype: str) -> None:
    source = np.ones(3, dtype)

    array = nvcomp.as_array(source)

    assert array.dtype == source.dtype
    np.testing.assert_array_equal(np.from_dlpack(array), source)
    assert memoryview(array).tobytes() == source.tobytes()


class Only:
    """Just one of the ways to hand an array over."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


def source_of(protocol: str, array: np.ndarray[Any, Any]) -> Any:
    match protocol:
        case "capsule":
            return array.__dlpack__()
        case "__dlpack__":

            class Exporter:
                def __dlpack__(self, **options: Any) -> Any:
                    return array.__dlpack__()

                def __dlpack_device__(self) -> tuple[int, int]:
                    return (1, 0)

            return Exporter()
        case "buffer":
            return memoryview(array)
        case "__cuda_array_interface__":  # of memory that the host reads, as nvCOMP's own host arrays have it
            return Only(__cuda_array_interface__={**array.__array_interface__, "version": 3}, kept=array)
        case _:
            return Only(__array_interface__=array.__array_interface__, kept=array)


@pytest.mark.parametrize(
    "protocol", ["capsule", "__dlpack__", "__array_interface__", "__cuda_array_interface__", "buffer"]
)
def test_n40_every_protocol_shares_the_memory(protocol: str) -> None:
    source = np.arange(24, dtype="<i4").reshape(4, 6)

    array = nvcomp.as_array(source_of(protocol, source))

    assert (array.shape, array.dtype) == ((4, 6), np.dtype("<i4"))
    assert np.shares_memory(np.asarray(array), source)
    np.testing.assert_array_equal(np.asarray(array), source)


class Tracked(np.ndarray):  # type: ignore[type-arg]
    """An array with weak references."""


def test_n40_sources_are_kept_and_let_go() -> None:
    source = np.arange(5).view(Tracked)
    reference = weakref.ref(source)

    array = nvcomp.as_array(source)
    del source
    gc.collect()
    assert reference() is not None
    assert np.asarray(array).tolist() == [0, 1, 2, 3, 4]
    del array
    gc.collect()

    assert reference() is None


@pytest.mark.needs_torch
def test_n40_n43_torch_tensors() -> None:
    import torch

    tensor = torch.arange(6, dtype=torch.int16)
    array = nvcomp.from_dlpack(tensor)

    assert array.dtype == np.int16
    assert torch.from_dlpack(array).data_ptr() == tensor.data_ptr()
    codec = nvcomp.Codec(algorithm="LZ4")
    assert torch.from_dlpack(codec.decode(codec.encode(tensor), "<i2")).tolist() == list(range(6))


class Memory:
    """What an allocator returns; counts the living."""

    alive = 0

    def __init__(self, size: int) -> None:
        self._bytes = ctypes.create_string_buffer(max(1, size))
        self.ptr = ctypes.addressof(self._bytes)
        Memory.alive += 1

    def __del__(self) -> None:
        Memory.alive -= 1


@pytest.fixture
def host_allocator() -> Iterator[list[tuple[int, Any]]]:
    calls: list[tuple[int, Any]] = []

    def allocate(size: int, stream: nvcomp.CudaStream) -> Any:
        calls.append((size, stream))
        return nvcomp.ExternalMemory(Memory(size), stream)

    nvcomp.set_host_allocator(allocate)
    yield calls
    nvcomp.set_host_allocator(None)


def test_n45_to_n50_results_live_in_the_allocators_memory(host_allocator: list[tuple[int, Any]]) -> None:
    codec = nvcomp.Codec(algorithm="LZ4")

    packed = codec.encode([b"a" * 1000, b"b" * 2000])
    unpacked = codec.decode(packed)

    assert [size for size, _ in host_allocator] == [*(array.size for array in packed), 1000, 2000]
    assert all(isinstance(stream, nvcomp.CudaStream) for _, stream in host_allocator)
    assert [bytes(array) for array in unpacked] == [b"a" * 1000, b"b" * 2000]
    assert Memory.alive == 4
    nvcomp.set_host_allocator()  # swapping while buffers live is legal
    assert bytes(codec.encode(b"x" * 99))
    assert len(host_allocator) == 4
    view = np.asarray(unpacked[0])
    del packed, unpacked
    gc.collect()
    assert Memory.alive == 1
    assert view[-1] == ord("a")
    del view
    gc.collect()
    assert Memory.alive == 0


def test_n46_allocators_are_checked() -> None:
    for set_allocator in (nvcomp.set_host_allocator, nvcomp.set_device_allocator, nvcomp.set_pinned_allocator):
        with pytest.raises(TypeError, match="allocator must be"):
            set_allocator(5)  # type: ignore[arg-type]
    try:
        nvcomp.set_host_allocator(lambda size, stream: 7)
        with pytest.raises(TypeError, match="ptr"):
            nvcomp.Codec(algorithm="LZ4").encode(b"abc")
        nvcomp.set_host_allocator(lambda size, stream: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            nvcomp.Codec(algorithm="LZ4").encode(b"abc")
    finally:
        nvcomp.set_host_allocator(None)


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        ("NS(ptr=0)", "OutOfMemoryError: the allocator returned namespace(ptr=0) with ptr 0 for "),
        ("NS(ptr=8)", "ValueError: the allocator returned ptr 8, which is not the address of "),
        ("NS(ptr=2**64 - 1)", "ValueError: the allocator returned ptr 18446744073709551615, which is not"),
        ("NS(ptr=-1)", "ValueError: the allocator returned memory with ptr -1, which is out of range"),
        ("NS(ptr=2**70)", "ValueError: the allocator returned memory with ptr 1180591620717411303424"),
        ("NS(ptr=None)", "TypeError: the allocator returned namespace(ptr=None), which has no integer"),
        ("None", "TypeError: the allocator returned None, which has no integer attribute 'ptr'"),
        ("NS(ptr=1.5)", "TypeError: the allocator returned namespace(ptr=1.5), which has no integer"),
        ("exec('raise MemoryError(7)')", "MemoryError: 7"),
    ],
)
def test_an_allocator_without_memory_ends_the_call_and_not_the_process(returned: str, text: str) -> None:
    program = f"""
    from types import SimpleNamespace as NS
    from tricodec import nvcomp
    codec = nvcomp.Codec(algorithm="LZ4", device="cpu", num_threads=2)
    packed = codec.encode(b"a" * 200000)
    nvcomp.set_host_allocator(lambda size, stream: {returned})
    for call in (codec.encode, codec.decode, lambda data: codec.encode([data] * 3), lambda data: codec.decode([data])):
        try:
            call(packed)
        except Exception as error:
            print(f"{{type(error).__name__}}: {{error}}")
    nvcomp.set_host_allocator(None)
    print(bytes(codec.decode(packed)) == b"a" * 200000)
    """
    lines = printed_by(program).splitlines()
    assert len(lines) == 5
    assert all(line.startswith(text) for line in lines[:4]), lines
    assert lines[4] == "True"


def test_n51_external_memory_drops_memory_before_its_stream() -> None:
    order: list[str] = []

    class Part:
        ptr = 4096

        def __init__(self, name: str) -> None:
            self.name = name

        def __del__(self) -> None:
            order.append(self.name)

    memory = nvcomp.ExternalMemory(Part("memory"), Part("stream"))
    assert memory.ptr == 4096
    del memory
    gc.collect()

    assert order == ["memory", "stream"]
    with pytest.raises(TypeError, match="ptr"):
        nvcomp.ExternalMemory(object())
