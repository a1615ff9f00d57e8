# SPDX-License-Identifier: Apache-2.0
"""Where NVIDIA's nvCOMP wheel keeps its library."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path

from tricodec._tricodec import set_nvcomp_library


@functools.cache
def use_installed_library() -> str:
    """Gives the core the path of the wheel's libnvcomp, if it is installed. Nothing is loaded or imported.

    Returns:
        Its path, or "".
    """
    try:
        spec = importlib.util.find_spec("nvidia.libnvcomp")
    except (ImportError, ValueError):
        return ""
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for name in ("libnvcomp.so.5", "libnvcomp.so.6"):
            path = Path(folder) / "lib64" / name
            if path.is_file():
                set_nvcomp_library(str(path))
                return str(path)
    return ""
