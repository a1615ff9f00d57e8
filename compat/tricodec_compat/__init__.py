# SPDX-License-Identifier: Apache-2.0
"""The names of torchcodec, decord and torchaudio.io on tricodec, and its readers for vision-language models.

``python -m tricodec_compat program.py`` runs a program that imports them, unchanged.
"""

from __future__ import annotations

from tricodec_compat._install import install

__all__ = ["install"]
