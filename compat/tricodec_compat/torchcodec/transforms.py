# SPDX-License-Identifier: Apache-2.0
"""torchcodec.transforms: what a VideoDecoder does to each upright RGB picture before it returns it."""

from __future__ import annotations

import abc
import importlib.util
import sys
from collections.abc import Sequence
from typing import Any

import torch

__all__ = ["CenterCrop", "DecoderTransform", "RandomCrop", "Resize"]

Size = tuple[int, int]
Step = tuple[int, ...]


class DecoderTransform(abc.ABC):
    """A step of VideoDecoder's `transforms`."""

    @abc.abstractmethod
    def _step(self, size: Size) -> Step:
        """What to do to a picture of (height, width): (height, width) resizes, (top, left, height, width) crops."""


class _Sized(DecoderTransform):
    def __init__(self, size: Sequence[int]) -> None:
        if len(size) != 2:
            raise ValueError(f"{type(self).__name__} must have a (height, width) pair for the size, not {size}")
        self.size = size

    def _wanted(self) -> Size:
        return int(self.size[0]), int(self.size[1])


class Resize(_Sized):
    """Resizes to (height, width), bilinear with antialiasing.

    Args:
        size: (height, width).

    Raises:
        ValueError: for a size of another length.
    """

    def _step(self, size: Size) -> Step:
        return self._wanted()


class CenterCrop(_Sized):
    """Cuts (height, width) out of the middle.

    Args:
        size: (height, width).

    Raises:
        ValueError: for a size of another length.
    """

    def _step(self, size: Size) -> Step:
        height, width = self._wanted()
        if height > size[0]:
            raise RuntimeError(f"the crop's height {height} is greater than input height {size[0]}")
        if width > size[1]:
            raise RuntimeError(f"the crop's width {width} is greater than input width {size[1]}")
        return round((size[0] - height) / 2), round((size[1] - width) / 2), height, width


class RandomCrop(_Sized):
    """Cuts (height, width) out of a random place, which is drawn when a decoder is made: one for all its frames.

    A seed of torch gives the place that torchvision's RandomCrop takes.

    Args:
        size: (height, width).

    Raises:
        ValueError: for a size of another length.
    """

    def _step(self, size: Size) -> Step:
        height, width = self._wanted()
        if size[0] < height or size[1] < width:
            raise ValueError(f"Input dimensions {size} are smaller than the crop size {self.size}.")
        top = int(torch.randint(0, size[0] - height + 1, size=()).item())
        left = int(torch.randint(0, size[1] - width + 1, size=()).item())
        return top, left, height, width


def steps_of(transforms: Sequence[Any] | None, size: Size) -> list[Step]:
    """The steps for pictures of (height, width).

    Raises:
        ValueError: for a transform that no decoder can do.
        RuntimeError, ValueError: for a crop that is larger than the picture.
    """
    steps: list[Step] = []
    for transform in transforms or ():
        step = (transform if isinstance(transform, DecoderTransform) else _from_torchvision(transform))._step(size)
        steps.append(step)
        size = (step[-2], step[-1])
    return steps


def _from_torchvision(transform: Any) -> DecoderTransform:
    v2: Any = sys.modules.get("torchvision.transforms.v2")  # an object of it has imported it
    if v2 is None and importlib.util.find_spec("torchvision") is None:
        raise ValueError(
            f"{transform} is not a DecoderTransform; torchvision's transforms are taken too, but TorchVision is not "
            "installed"
        )
    if v2 is None:
        raise ValueError(_unsupported(transform))
    name = f"TorchVision {type(transform).__name__}"
    if isinstance(transform, v2.Resize):
        if transform.interpolation not in (v2.InterpolationMode.BILINEAR, "bilinear"):
            raise ValueError(f"{name} must use bilinear interpolation, not {transform.interpolation}")
        if transform.antialias is False:
            raise ValueError(f"{name} must have antialias enabled")
        if transform.size is None:
            raise ValueError(f"{name} must have a size specified")
        return Resize(transform.size)
    if isinstance(transform, v2.CenterCrop):
        return CenterCrop(transform.size)
    if isinstance(transform, v2.RandomCrop):
        if transform.padding is not None:
            raise ValueError(f"{name} must not specify padding")
        if transform.pad_if_needed:
            raise ValueError(f"{name} must not specify pad_if_needed")
        if transform.fill != 0:
            raise ValueError(f"{name} fill must be 0, not {transform.fill}")
        if transform.padding_mode != "constant":
            raise ValueError(f"{name} padding_mode must be constant, not {transform.padding_mode}")
        return RandomCrop(transform.size)
    raise ValueError(_unsupported(transform))


def _unsupported(transform: Any) -> str:
    return (
        f"Unsupported transform: {transform}; pass a DecoderTransform, or torchvision v2's Resize, CenterCrop or "
        "RandomCrop"
    )
