# SPDX-License-Identifier: Apache-2.0
"""Where arrays lie in shared memory: how what a task makes passes from a worker to its stub."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

_ALIGNMENT = 64


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """What a task has made.

    Attributes:
        arrays: of NumPy, not to be written; or tricodec.DeviceArray where a GPU works without isolation.
        facts: what else there is to report, JSON values.
    """

    arrays: list[Any]
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """Where an array lies in memory.

    Attributes:
        typestr: NumPy's array protocol string.
        shape: of the array.
        start: the byte where it begins.
    """

    typestr: str
    shape: tuple[int, ...]
    start: int = 0

    @property
    def end(self) -> int:
        """The byte after it."""
        size = np.dtype(self.typestr).itemsize
        for extent in self.shape:
            size *= extent
        return self.start + size

    def array(self, memory: Any) -> npt.NDArray[Any]:
        """The array, as a view of the memory."""
        return np.ndarray(self.shape, self.typestr, memory, self.start)

    @classmethod
    def parse(cls, described: Mapping[str, Any]) -> Place:
        """A place that another process described.

        Raises:
            KeyError, TypeError, ValueError: if the description is not valid.
        """
        place = cls(str(described["typestr"]), tuple(map(int, described["shape"])), int(described["start"]))
        if np.dtype(place.typestr).kind not in "biufc" or min((place.start, *place.shape)) < 0:
            raise ValueError(f"an answer describes an array of {place.typestr} at {place.start} of shape {place.shape}")
        return place


@dataclasses.dataclass(frozen=True, slots=True)
class Block:
    """Where the arrays of an outcome lie in a memory file, and the outcome's facts."""

    places: list[Place]
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def total_bytes(self) -> int:
        """How much of the file it takes, at least 1: an empty file cannot be mapped."""
        return max(1, *(place.end for place in self.places))

    def read(self, memory: Any) -> tuple[Outcome, npt.NDArray[Any]]:
        """The outcome, and the array that all its arrays are views of: while that lives, the file is not written."""
        whole: npt.NDArray[np.uint8] = np.ndarray((self.total_bytes,), np.uint8, memory)
        return Outcome([place.array(whole) for place in self.places], self.facts), whole

    @classmethod
    def parse(cls, described: Mapping[str, Any]) -> Block:
        """A block that a worker described.

        Raises:
            KeyError, TypeError, ValueError: if it is not valid; the worker is then not trusted any more.
        """
        if not described["places"]:
            raise ValueError("an answer describes no array")
        return cls([Place.parse(place) for place in described["places"]], dict(described["facts"]))


def lay_out(arrays: Iterable[tuple[str, tuple[int, ...]]]) -> list[Place]:
    """Places one after another for arrays, each given by its typestr and shape."""
    places: list[Place] = []
    end = 0
    for typestr, shape in arrays:
        places.append(Place(typestr, tuple(shape), -(-end // _ALIGNMENT) * _ALIGNMENT))
        end = places[-1].end
    return places
