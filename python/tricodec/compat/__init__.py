# SPDX-License-Identifier: Apache-2.0
"""Names of other packages, for programs that import them.

``python -m tricodec.compat program.py`` runs a program that imports them, unchanged.
"""

from __future__ import annotations

from tricodec._public import public_names
from tricodec.compat._install import install
from tricodec.compat._nvcomp import install_nvcomp

__all__ = ["install", "install_nvcomp"]
__dir__ = public_names(globals())
