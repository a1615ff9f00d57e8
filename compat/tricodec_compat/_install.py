# SPDX-License-Identifier: Apache-2.0
"""install(): which names of other packages are tricodec's from now on."""

from __future__ import annotations

import os

from tricodec_compat._packages import VERSIONS, install_packages
from tricodec_compat._torchaudio import install_torchaudio


def install(*names: str, force: bool = False) -> tuple[str, ...]:
    """Make the names of other packages find tricodec's classes.

    Without arguments this is torchaudio: ``from torchaudio.io import StreamReader`` finds the one of `tricodec.io`. A
    module that torchaudio still has stays torchaudio's. Without torchaudio ``import torchaudio`` gives an empty package
    with only these modules.

    ``install("torchcodec", "decord")`` puts these packages in place, also if the originals are installed: the program
    asks for it. Modules that imported an original before keep it. A second call does nothing.

    Args:
        names: "torchaudio", "torchcodec", "decord" (decord 0.6, which scales bilinear) or "decord2" (bicubic); none is
            "torchaudio".
        force: also replace modules that torchaudio has.

    Returns:
        The modules and packages of these that tricodec now provides, such as ``("torchaudio.io", ...)`` or
        ``("torchcodec", "decord")``; decord2's package is named decord.

    Raises:
        ValueError: for another name.

    Thread safety: call it before other threads import these packages.
    """
    accepted = ("torchaudio", *VERSIONS)
    names = tuple(name.lower() for name in names)
    for name in names:
        if name not in accepted:
            raise ValueError(f"{name!r} is no package with a replacement here; accepted are {', '.join(accepted)}")
    distributions = [name for name in names if name in VERSIONS]
    if distributions:
        install_packages(distributions)
    packages = ["decord" if name == "decord2" else name for name in distributions]
    if names and "torchaudio" not in names:
        return tuple(packages)
    return (*install_torchaudio(force=force), *packages)


def install_named_by_environment() -> None:
    """install() with the names in TRICODEC_COMPAT, separated by commas; nothing if it is not set.

    Raises:
        ValueError: for another name.
    """
    names = [name.strip() for name in os.environ.get("TRICODEC_COMPAT", "").split(",") if name.strip()]
    if names:
        install(*names)
