# SPDX-License-Identifier: Apache-2.0
"""How far a result may be from another implementation's, and why it may be at all. Units: steps of 8-bit samples.

docs/reference/transform.md lists what was measured. The bounds here leave room for other versions of the peers, and
never more than their reason explains.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tolerance:
    """Bounds on absolute differences, in 8-bit steps."""

    largest: int
    mean: float


SWSCALE_CONVERSION = Tolerance(1, 0.01)
"""Colour conversion alone: both round a matrix of 13-bit integers, but in full range swscale rescales to limited range
first, and samples of 10 bits and more are cut to 15 bits: a half may round the other way."""

SWSCALE_DEFAULTS = Tolerance(3, 1.5)
"""Without accurate_rnd swscale's SIMD multiplies words of 16 bits and keeps the upper halves, so that each of three
products is rounded down."""

SWSCALE_BILINEAR = Tolerance(2, 0.06)
"""The same triangle and 14-bit coefficients, but swscale computes them in integers, puts the residue of rounding
elsewhere, and runs horizontally first; the matrix (up to 2.1) turns one step of chroma into two."""

SWSCALE_BILINEAR_BORDER = Tolerance(10, 0.08)
"""When shrinking, swscale drops outer taps that weigh up to 0.002 each side before it folds those beyond the picture
into the border sample. That is some steps where the border is dark or bright, in the outermost samples only."""

PILLOW_RESIZE = Tolerance(1, 0.3)
"""Pillow rounds to 8 bits between its horizontal and its vertical pass; ours keeps 14 bits. Holds where no tap falls
outside the picture and no overshoot of the first pass is clipped at 0 or 255."""

PILLOW_RESIZE_BORDER = Tolerance(8, 0.35)
"""At the border Pillow leaves out the taps that fall outside, ours repeats the border sample: on noise of 110 steps,
with a quarter of the triangle outside, up to 6 steps."""

TORCH_RESIZE = Tolerance(1, 0.02)
"""Of float32, torch's antialiased interpolation rounds nothing in between; our coefficients and rows have 14 bits."""

TORCH_RESIZE_UINT8 = PILLOW_RESIZE
"""Of uint8 it is Pillow's algorithm, which rounds to 8 bits between its passes."""

TORCH_RESIZE_BORDER = PILLOW_RESIZE_BORDER
"""Of both types it leaves out the taps that fall outside, as Pillow does."""
