# SPDX-License-Identifier: Apache-2.0
"""The version of the original that a program is written for: its releases disagree about ``bf``."""

from __future__ import annotations

import os
import sys

#: The latest release of each version, for ``__version__``.
RELEASES = {"1.0": "1.0.2", "2.2": "2.2.4"}
_VARIABLE = "TRICODEC_PYNV_API"

_chosen: str | None = None
_has_met_2 = False


def set_api_version(version: str) -> None:
    """Choose the version of the original for the encoders that are made after the call.

    It decides what ``bf`` means. In "1.0" it is the GOP pattern of the document's Table 1: 0 is I, 1 IPP, 2 IBP, 3
    IBBP. In "2.2" it is the number of B frames: 0 is IPP, 2 is IBBP. "auto", the default, is 2.2 for a program that has
    used names or options that 1.0 lacks, and 1.0 for any other. The environment variable TRICODEC_PYNV_API is the
    choice of programs that do not call this function. ``__version__`` is the latest release of the chosen version, and
    2.2's for "auto".

    Args:
        version: "1.0", "2.2" or "auto".

    Raises:
        ValueError: another version.

    Thread safety: the choice is the whole process's; make it before the first encoder.
    """
    global _chosen  # noqa: PLW0603
    _chosen = _checked(version, "version")
    package = sys.modules[__package__]
    package.__version__ = release()  # type: ignore[attr-defined]


def note_2() -> None:
    """Notes that the program uses what only 2.x has."""
    global _has_met_2  # noqa: PLW0603
    _has_met_2 = True


def chosen_version() -> str | None:
    """The version that the program or the environment chooses; None for "auto"."""
    version = _chosen or _checked(os.environ.get(_VARIABLE) or "auto", _VARIABLE)
    return None if version == "auto" else version


def version() -> str:
    """The version that the program is written for."""
    return chosen_version() or ("2.2" if _has_met_2 else "1.0")


def release() -> str:
    """The release that ``__version__`` names."""
    return RELEASES[chosen_version() or "2.2"]


def _checked(version: str, name: str) -> str:
    if version not in (*RELEASES, "auto"):
        message = f"{name} is {version!r}; accepted: {', '.join(map(repr, (*RELEASES, 'auto')))}"
        raise ValueError(message)
    return version
