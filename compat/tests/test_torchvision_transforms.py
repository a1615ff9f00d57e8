# SPDX-License-Identifier: Apache-2.0
"""Transforms of torchcodec's names beside those of torchvision itself."""

from __future__ import annotations

from typing import Any

import media
import pytest
from peer_names import torch, torchcodec
from torchvision_wheel import load_torchvision

pytestmark = pytest.mark.needs_vlm
CLIP = "h264_bframes.mp4"


@pytest.fixture(scope="module")
def v2() -> Any:
    return load_torchvision()


@pytest.fixture(scope="module")
def frames() -> Any:
    return decoded()


def decoded(*transforms: Any, clip: str = CLIP) -> Any:
    return torchcodec.decoders.VideoDecoder(media.generated(clip), transforms=transforms)[:10]


@pytest.mark.parametrize("size", [(90, 160), (100, 101), (200, 400)])
def test_resize_is_near_torchvisions(v2: Any, size: tuple[int, int]) -> None:
    # In gray: at hard edges of color libswscale, which torchcodec resizes by, takes color from every other pixel.
    found = decoded(v2.Resize(size), clip="gray.mkv")
    assert torch.equal(found, decoded(torchcodec.transforms.Resize(size), clip="gray.mkv"))
    expected = v2.functional.resize(decoded(clip="gray.mkv"), size, antialias=True)
    difference = (found.int() - expected.int()).abs()
    assert int(difference.max()) <= 6
    assert float((difference <= 1).float().mean()) >= 0.997


def test_crops_are_torchvisions(v2: Any, frames: Any) -> None:
    assert torch.equal(decoded(v2.CenterCrop((101, 99))), v2.CenterCrop((101, 99))(frames))
    for seed in range(3):
        torch.manual_seed(seed)
        found = decoded(v2.RandomCrop((64, 80)))
        torch.manual_seed(seed)
        assert torch.equal(found, v2.RandomCrop((64, 80))(frames))


def test_what_no_decoder_does_is_refused(v2: Any) -> None:
    for wrong, words in (
        (v2.Resize((90, 160), interpolation=v2.InterpolationMode.NEAREST), "bilinear"),
        (v2.Resize((90, 160), antialias=False), "antialias"),
        (v2.RandomCrop((9, 9), padding=1), "padding"),
        (v2.RandomCrop((9, 9), pad_if_needed=True), "pad_if_needed"),
        (v2.RandomCrop((9, 9), fill=1), "fill"),
        (v2.RandomCrop((9, 9), padding_mode="edge"), "padding_mode"),
        (v2.RandomHorizontalFlip(), "Unsupported transform"),
    ):
        with pytest.raises(ValueError, match=words):
            decoded(wrong)
