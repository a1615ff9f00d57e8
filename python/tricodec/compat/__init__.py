# SPDX-License-Identifier: Apache-2.0
"""Names of other packages that their programs still import."""

from __future__ import annotations

from tricodec.compat._torchaudio import install

__all__ = ["install"]
