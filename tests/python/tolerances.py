# SPDX-License-Identifier: Apache-2.0
"""How far a result may be from another implementation's, and why it may be at all. Units: steps of 8-bit samples.

`largest` bounds every sample, `mean` the mean absolute difference. docs/transform.md lists what was measured; these are
the measured values with room for other versions of the peers, never more than the reason explains.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tolerance:
    """Bounds on absolute differences, in 8-bit steps."""

    largest: int
    mean: float


SWSCALE_CONVERSION = Tolerance(1, 0.02)
"""Colour conversion alone. swscale rounds its matrix to 13 bits too, but clips and rounds the samples to 15 bits before
it and adds the rounding term elsewhere: halves may go the other way."""

SWSCALE_BILINEAR = Tolerance(1, 0.05)
"""swscale's filter has the same triangle and 14-bit coefficients, computed in 64-bit integers instead of doubles and with
the residue of rounding spread otherwise, and runs horizontally first."""

SWSCALE_BILINEAR_DROPPED_TAPS = Tolerance(6, 0.05)
"""When shrinking by a ratio that is no integer swscale drops outer taps that weigh less than 0.002 together, and mirrors
nothing: single samples at hard edges differ by as much as the taps weighed (0.002 * 255), and by more where chroma
follows through the matrix."""

SWSCALE_BICUBIC = Tolerance(8, 1.2)
"""swscale's cubic has a = -0.6 where ours has -0.5 (its `param1`, which should change that, is misread by FFmpeg 5.1)."""

PILLOW_RESIZE = Tolerance(1, 0.25)
"""Pillow rounds to 8 bits, halves up, between its horizontal and its vertical pass; ours keeps 14 bits. Holds where no
tap falls outside the picture and no overshoot passes 0 or 255."""

PILLOW_BORDER = Tolerance(16, 0.3)
"""At the border Pillow leaves out the taps that fall outside and ours repeats the border sample, as convolution on
images elsewhere does: on noise the two differ by a part of what the border weighs, at most half a filter."""
