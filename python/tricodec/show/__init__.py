# SPDX-License-Identifier: Apache-2.0
"""How things show themselves in notebooks and terminals: tables, pictures by Pillow and progress bars by rich.

Both packages are imported at their first use. They come with ``pip install tricodec[cli]``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def needed(module: str, package: str, purpose: str) -> Any:
    """A module that only what is shown needs, or an ImportError, which begins with the purpose and has the remedy."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or module.split(".", maxsplit=1)[0] != error.name.split(".")[0]:
            raise
        message = f"{purpose} need the package {package}, which is not installed; run: pip install {package}"
        raise ImportError(message) from error
