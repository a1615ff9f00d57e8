# SPDX-License-Identifier: Apache-2.0
"""Values that no argument expects: of wrong types, out of range, and objects that break their own protocols."""

from __future__ import annotations

import enum
import io
import math
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np


class HostileError(Exception):
    """What the objects here raise. It may reach the caller as it is."""


class Color(enum.Enum):
    """An enum of another program."""

    RED = 1


class Raises:
    """An object with the methods of numbers, sequences, files and paths, which all raise."""

    def _raise(self, *arguments: Any, **keywords: Any) -> Any:
        raise HostileError("of the caller")

    __index__ = __int__ = __float__ = __len__ = __iter__ = __getitem__ = __fspath__ = __array__ = _raise
    read = seek = write = readinto = _raise


class WrongSizes:
    """An object with a length, indexes and items that contradict one another."""

    def __len__(self) -> int:
        return 1 << 40

    def __getitem__(self, index: object) -> int:
        return 1 << 70

    def __index__(self) -> int:
        return -(1 << 70)

    def __array__(self, dtype: object = None, copy: object = None) -> Any:
        return np.zeros((0, 3), np.complex128)


class File:
    """A file that reads and seeks as it likes."""

    def __init__(self, answer: object, place: object = 0) -> None:
        self._answer = answer
        self._place = place

    def read(self, size: int = -1) -> Any:
        return self._answer

    def seek(self, offset: int, whence: int = 0) -> Any:
        return self._place

    def write(self, data: bytes) -> Any:
        return self._answer

    def tell(self) -> Any:
        return self._place


class Interface:
    """An array by an array interface that lacks what it must have. Its memory is never named."""

    def __init__(self, **fields: object) -> None:
        self.__array_interface__ = {"version": 3, **fields}


class Capsule:
    """An object with a DLPack method that gives something else."""

    def __dlpack__(self, **keywords: object) -> object:
        return object()

    def __dlpack_device__(self) -> Any:
        return ("cpu", None, 3)


def _recursive() -> list[Any]:
    inside: list[Any] = []
    inside.append(inside)
    return inside


INTEGERS = (0, 1, -1, 2, 3, 7, 255, 256, 65535, 1 << 20, (1 << 31) - 1, 1 << 31, -(1 << 31), (1 << 32) - 1, 1 << 32)
INTEGERS += ((1 << 53) + 1, (1 << 63) - 1, 1 << 63, -(1 << 63), -(1 << 63) - 1, (1 << 64) - 1, 1 << 64, -(1 << 70))
FLOATS = (0.0, -0.0, 0.5, 1e-320, -1.5, 1e18, 1e300, math.inf, -math.inf, math.nan)
TEXTS = ("", " ", "x", "cpu", "cuda", "cuda:0", "cuda:-1", "cuda:99999999999", "auto", "h264", "HEVC", "rgb24", "nchw")
TEXTS += ("a\0b", "\ud800", "é" * 300, "%s%n", "../x", "/", ".", "http://x/y.mp4", "concat:a|b", "float32", "uint8")
TEXTS += ("-1", "1e999", "nan", "bilinear", "bt709", "yuv420p", "<f4", "|V8", ">i2", "scale=1e9:-1", "\n", "a" * 5000)


def _array(rng: random.Random) -> Any:
    dtype = rng.choice(("u1", "i1", ">u2", "f2", "f4", "f8", "c8", "i8", "?", "O", "U3", "M8[s]", "V5"))
    shape = rng.choice(((), (0,), (1,), (3,), (2, 2), (0, 4, 4, 3), (4, 4, 3), (2, 4, 4, 3), (1, 3, 4, 4), (1,) * 20))
    array = np.zeros(shape, dtype)
    way = rng.randrange(6)
    if way == 0 and array.ndim:
        array = array[::-1]
    elif way == 1:
        array = array.T
    elif way == 2:
        array.flags.writeable = False
    elif way == 3:
        array = np.broadcast_to(array, (2, *shape))
    elif way == 4 and array.ndim:
        array = array[..., ::2]
    return array


def hostile(rng: random.Random, depth: int = 0) -> Any:
    """A value of any type."""
    simple = (
        lambda: rng.choice(INTEGERS),
        lambda: rng.choice(INTEGERS),
        lambda: rng.choice(FLOATS),
        lambda: rng.choice(TEXTS),
        lambda: rng.choice(TEXTS),
        lambda: rng.choice((None, True, False, ..., NotImplemented)),
        lambda: rng.choice((b"", b"x", rng.randbytes(80), bytearray(3), bytes(5000))),
        lambda: memoryview(bytes(12))[:: rng.choice((1, 2, -1))],
        lambda: memoryview(bytes(24)).cast(rng.choice(("d", "i", "c"))),
        lambda: _array(rng),
        lambda: _array(rng),
        lambda: rng.choice((np.int64(-1), np.uint8(200), np.float32(math.nan), np.bool_(True), np.str_("cpu"))),
        lambda: rng.choice((object(), object, int, len, print, lambda *a, **k: a, Color.RED, Path("x"), Path())),
        lambda: rng.choice((Fraction(1, 3), Fraction(1 << 70, 3), Fraction(0), Fraction(-1), 1j, range(1 << 40))),
        lambda: rng.choice((Raises(), WrongSizes(), Capsule(), iter(()), _recursive())),
        lambda: File(rng.choice((b"", b"x" * 100_000, None, 7, "text", bytearray(3))), rng.choice((0, -1, None, "x"))),
        lambda: Interface(shape=rng.choice(((1,), None, (-1,))), typestr=rng.choice(("|u1", "x", 3))),
        lambda: rng.choice((io.BytesIO(), io.BytesIO(b"xyz"), io.StringIO("x"))),
        lambda: slice(*(rng.choice((None, -1, 0, 1, 1 << 70, "x", 1.5)) for _ in range(3))),
    )
    nested = (
        lambda: [hostile(rng, depth + 1) for _ in range(rng.choice((0, 1, 2, 3, 4)))],
        lambda: tuple(hostile(rng, depth + 1) for _ in range(rng.choice((0, 1, 2, 3)))),
        lambda: [rng.choice(INTEGERS) for _ in range(rng.choice((1, 2, 3, 4)))],
        lambda: tuple(rng.choice((-1, 0, 1, 2, 16, 64, 1 << 20)) for _ in range(rng.choice((1, 2, 3, 4)))),
        lambda: {rng.choice(TEXTS): hostile(rng, depth + 1) for _ in range(rng.choice((0, 1, 2)))},
        lambda: {rng.choice(TEXTS): rng.choice(TEXTS)},
        lambda: {hostile(rng, 9) for _ in range(2) if False} or {1, "x"},
    )
    return rng.choice(simple if depth > 1 or rng.random() < 0.7 else nested)()


def told(value: object) -> str:
    """A short text of the value, for the report of a failure."""
    try:
        text = repr(value)
    except Exception as error:  # the repr of an object may fail
        text = f"<{type(value).__name__}: {error!r}>"
    text = text.encode("ascii", "backslashreplace").decode()
    return text if len(text) < 160 else f"{text[:120]}... ({len(text)} characters)"
