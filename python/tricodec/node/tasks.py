# SPDX-License-Identifier: Apache-2.0
"""Work that a client describes and a process of the node does: the contract between them.

A task is a dataclass of JSON values, in a module of tricodec. Opened with the bytes of its source it is one job, or
several in sequence if its outcome is given in parts. A job knows how much memory its outcome takes.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import importlib
import math
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tricodec._tricodec import DeviceArray
from tricodec.arrays import Bfloat16Array
from tricodec.node import _device_memory

_ALIGNMENT = 64
_NONE = object()


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """What a task has made, for its client."""

    arrays: list[Any]  # of NumPy; the first one may be a tricodec.DeviceArray
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)  # what else there is to report, JSON values


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """Where an array lies in memory."""

    typestr: str  # of NumPy's array protocol
    shape: tuple[int, ...]
    start: int = 0  # the byte where it begins

    @property
    def end(self) -> int:
        """The byte after it."""
        return self.start + math.prod(self.shape) * np.dtype(self.typestr).itemsize

    def array(self, memory: Any) -> npt.NDArray[Any]:
        """The array, as a view of host memory."""
        array: npt.NDArray[Any] = np.ndarray(self.shape, self.typestr, memory, self.start)
        return array

    def writable(self, memory: Any, dtype: str) -> Any:
        """What a transform writes to, on the host or on a GPU. Args: dtype is NumPy's name, or "bfloat16"."""
        is_bfloat16 = dtype == "bfloat16"
        if isinstance(memory, _device_memory.Block):
            view = _device_memory.View(memory, memory.address + self.start, self.shape, self.typestr, None)
            return DeviceArray.over(view, "bfloat16") if is_bfloat16 else view
        return Bfloat16Array(self.array(memory)) if is_bfloat16 else self.array(memory)

    @classmethod
    def parse(cls, described: dict[str, Any]) -> Place:
        """A place that another process described.

        Raises:
            KeyError, TypeError, ValueError: the description is not valid.
        """
        place = cls(str(described["typestr"]), tuple(map(int, described["shape"])), int(described["start"]))
        if np.dtype(place.typestr).kind not in "biufc" or min((place.start, *place.shape)) < 0:
            raise ValueError(f"an answer describes an array of {place.typestr} at {place.start} of shape {place.shape}")
        return place


def lay_out(arrays: Iterable[tuple[str, tuple[int, ...]]]) -> list[Place]:
    """Places one after another for arrays, each given by its typestr and shape."""
    places: list[Place] = []
    end = 0
    for typestr, shape in arrays:
        places.append(Place(typestr, tuple(shape), -(-end // _ALIGNMENT) * _ALIGNMENT))
        end = places[-1].end
    return places


@dataclasses.dataclass(frozen=True, slots=True)
class Block:
    """Where the arrays of an outcome lie in shared memory, and what goes beside them."""

    places: list[Place]  # of the arrays
    beside: list[npt.NDArray[Any]] = dataclasses.field(default_factory=list)  # small ones, which go with the message
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)  # of the outcome
    dtype: str = ""  # of the one array that lies where the task works, which may be a GPU; "" if they lie on the host

    @property
    def total_bytes(self) -> int:
        """How much of the memory it takes."""
        return max(0, *(place.end for place in self.places))

    def described(self) -> dict[str, Any]:
        """The block in a message."""
        beside = [
            {"typestr": each.dtype.str, "shape": each.shape, "bytes": base64.b64encode(each.tobytes()).decode()}
            for each in self.beside
        ]
        places = [{"typestr": each.typestr, "shape": each.shape, "start": each.start} for each in self.places]
        return {"places": places, "beside": beside, "facts": self.facts}


def outcome_of(described: dict[str, Any], array: Any) -> Outcome:
    """The outcome that a message describes.

    Args:
        described: what `Block.described` gave.
        array: of the node's memory; all arrays on the host are views of it.
    """
    if not isinstance(array, np.ndarray):
        # A stub of Triton passes memory on by an older way, which memory of the node does not have.
        [place] = map(Place.parse, described["places"])
        arrays: list[Any] = [DeviceArray.copy_of(array.array) if array.size else np.empty(place.shape, place.typestr)]
    else:
        arrays = [Place.parse(place).array(array) for place in described["places"]]
    for each in described["beside"]:
        arrays.append(np.frombuffer(base64.b64decode(each["bytes"]), each["typestr"]).reshape(each["shape"]))
    return Outcome(arrays, described["facts"])


class ElsewhereError(Exception):
    """The GPU of the process does not decode what the task reads; the CPU does."""


@dataclasses.dataclass(frozen=True, slots=True)
class Tools:
    """What a task has in the process that does it."""

    device: str  # "cpu", "cuda:N", or "auto:N" if the client accepts the CPU too
    num_threads: int  # the task's share
    stream: Any = None  # of a GPU, on which the outcome is to be complete; None on the CPU
    kept: dict[str, Any] = dataclasses.field(default_factory=dict)  # for tasks with the same pin, with which it closes

    @property
    def on_stream(self) -> dict[str, Any]:
        """The keyword `stream` of readers, decoders and transforms."""
        return {} if self.stream is None else {"stream": self.stream.handle}


class Job(Protocol):
    """An opened task."""

    @property
    def block(self) -> Block:
        """Where `write` writes; after it, where the outcome lies."""

    def write(self, memory: Any) -> None:
        """Writes the outcome to where `block` says, in an mmap or in a `_device_memory.Block`."""


class Task(Protocol):
    """What is asked; a dataclass of JSON values."""

    def open(self, data: Any, settings: Any, tools: Tools) -> AbstractContextManager[Iterable[Job]]:
        """Begins the task: its jobs, each to be done before the next one is taken.

        Args:
            data: the bytes of the source, bytes-like; or a tricodec.remote.RemoteSource.
            settings: what goes with all tasks of the client.
            tools: of the process.
        """


def described(value: Any) -> dict[str, Any]:
    """A dataclass of JSON values in a message, without its defaults: a short text needs no file beside it."""
    kind: Any = type(value)
    values = {name: given for name, default in _defaults(kind).items() if (given := getattr(value, name)) != default}
    return {"module": kind.__module__, "class": kind.__name__, "values": values}


@functools.cache
def _defaults(kind: Any) -> dict[str, Any]:
    """The fields of a dataclass with their defaults, _NONE for those that have none."""
    defaults = {}
    for field in dataclasses.fields(kind):
        defaults[field.name] = _NONE if field.default is dataclasses.MISSING else field.default
        if field.default_factory is not dataclasses.MISSING:
            defaults[field.name] = field.default_factory()
    return defaults


def made_of(message: dict[str, Any]) -> Any:
    """The dataclass that a message describes.

    Raises:
        ValueError: it is none of tricodec's.
    """
    if not str(message["module"]).startswith("tricodec."):
        raise ValueError(f"a task of the module {message['module']!r} is none of tricodec's")
    kind = getattr(importlib.import_module(message["module"]), message["class"])
    if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
        raise ValueError(f"{message['class']!r} is no class of tasks")
    return kind(**message["values"])


def marked(jobs: Iterable[Job]) -> Iterator[tuple[Job, bool]]:
    """Each job, and whether it is the last one."""
    following = iter(jobs)
    job = next(following)
    for after in following:
        yield job, False
        job = after
    yield job, True
