# SPDX-License-Identifier: Apache-2.0
"""``python -m tricodec_compat [-m] PROGRAM [ARGUMENT ...]``: runs a program that imports other packages' names."""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path

from tricodec_compat._install import install, install_named_by_environment


def main() -> None:
    """Run a program with tricodec's torchaudio.io and torio.io, if the originals are not installed.

    TRICODEC_COMPAT=torchcodec,decord also puts these packages in place.
    """
    parser = argparse.ArgumentParser(prog="python -m tricodec_compat", description=main.__doc__)
    parser.add_argument("-m", dest="is_module", action="store_true", help="PROGRAM is the name of a module")
    parser.add_argument("program", metavar="PROGRAM", help="a Python file, or with -m a module")
    parser.add_argument("arguments", metavar="ARGUMENT", nargs=argparse.REMAINDER, help="for the program")
    options = parser.parse_args()
    if not options.is_module and not Path(options.program).exists():
        parser.error(f"there is no file '{options.program}'; give a Python file, or -m and the name of a module")
    install()
    try:
        install_named_by_environment()
    except ValueError as error:
        parser.error(f"TRICODEC_COMPAT: {error}")
    # Python does the same for a file. For a module the working directory is already first.
    if not options.is_module:
        sys.path[0] = str(Path(options.program).resolve().parent)
    sys.argv = [options.program, *options.arguments]
    if options.is_module:
        runpy.run_module(options.program, run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(options.program, run_name="__main__")


if __name__ == "__main__":
    main()
