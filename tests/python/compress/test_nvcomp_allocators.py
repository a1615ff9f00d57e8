# SPDX-License-Identifier: Apache-2.0
"""nvCOMP's allocators (N45 to N51): results live in the caller's memory."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from programs import printed_by
from tricodec import nvcomp


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
