# SPDX-License-Identifier: Apache-2.0
"""A detector that finds the same thing in every picture, and keeps the pictures for the test."""

from __future__ import annotations

import numpy as np
import torch


class Detector:
    def __init__(self) -> None:
        self._seen: list[np.ndarray] = []

    def to(self, device: torch.device) -> Detector:
        return self

    def eval(self) -> None:
        """It has no training."""

    def __call__(self, pictures: list[torch.Tensor]) -> list[dict[str, torch.Tensor]]:
        self._seen += [picture.cpu().numpy() for picture in pictures]
        np.save("seen.npy", np.stack(self._seen))
        box = {"boxes": torch.tensor([[10.0, 10.0, 50.0, 40.0]]), "labels": torch.tensor([1])}
        return [{**box, "scores": torch.tensor([0.9])} for _ in pictures]


def fasterrcnn_resnet50_fpn(pretrained: bool) -> Detector:
    """Not the network of that name."""
    assert pretrained
    return Detector()
