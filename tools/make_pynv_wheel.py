# SPDX-License-Identifier: Apache-2.0
"""Makes small wheels beside tricodec's, for names of NVIDIA's packages, in build/wheel.

python tools/make_pynv_wheel.py [PyNvVideoCodec|tricodec-nvcomp] [--output build/wheel] [--install]

PyNvVideoCodec holds metadata alone: packages that require that distribution install without NVIDIA's, and tricodec's
own wheel has the import package. tricodec-nvcomp holds the module nvidia.nvcomp, which is tricodec.nvcomp: Python finds
it beside other packages below nvidia, as DALI. --install leaves it out where NVIDIA's nvCOMP is installed.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import importlib.metadata
import runpy
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# A fixed time makes equal wheels of equal sources.
TIME = (2026, 1, 1, 0, 0, 0)
PYNV, NVCOMP = "PyNvVideoCodec", "tricodec-nvcomp"


def contents(name: str) -> dict[str, str]:
    """The files of a wheel but its RECORD, by name; those of its metadata are the first."""
    tricodec = (ROOT / "VERSION").read_text().strip()
    files = {}
    if name == PYNV:
        # The local part says that this is not NVIDIA's release. Requirements ignore it, and PyPI refuses it.
        version = f"{runpy.run_path(str(ROOT / 'python/PyNvVideoCodec/_api.py'))['RELEASES']['2.2']}+tricodec"
        summary = "Metadata only: tricodec has the import package PyNvVideoCodec. Not a release of NVIDIA."
    else:
        version, summary = tricodec, "The module nvidia.nvcomp, which is tricodec.nvcomp. Not a release of NVIDIA."
        sources = sorted((ROOT / "python/nvidia_nvcomp").glob("*.py"))
        files = {f"nvidia/nvcomp/{source.name}": source.read_text() for source in sources}
    metadata = f"""Metadata-Version: 2.1
Name: {name}
Version: {version}
Summary: {summary}
License: Apache-2.0
Requires-Python: >=3.10
Requires-Dist: tricodec=={tricodec}
"""
    wheel = "Wheel-Version: 1.0\nGenerator: tricodec\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    folder = f"{name.lower().replace('-', '_')}-{version}.dist-info"
    return {f"{folder}/METADATA": metadata, f"{folder}/WHEEL": wheel, **files}


def make(output: Path, name: str = PYNV) -> Path:
    """Writes the wheel to the folder `output` and returns it."""
    files = contents(name)
    folder = next(iter(files)).split("/")[0]
    lines = []
    for file, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        lines.append(f"{file},sha256={digest},{len(text.encode())}\n")
    record = f"{folder}/RECORD"
    files[record] = "".join(lines) + f"{record},,\n"
    output.mkdir(parents=True, exist_ok=True)
    path = output / f"{folder.removesuffix('.dist-info')}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, text in files.items():
            archive.writestr(zipfile.ZipInfo(file, TIME), text)
    return path


def nvidias_nvcomp() -> str | None:
    """The installed distribution of NVIDIA's that has nvidia.nvcomp."""
    names = [str(each.metadata["Name"]).lower().replace("_", "-") for each in importlib.metadata.distributions()]
    return next((name for name in names if name.startswith("nvidia-nvcomp")), None)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", default=PYNV, choices=(PYNV, NVCOMP))
    parser.add_argument("--output", type=Path, default=ROOT / "build/wheel", help="the folder for the wheel")
    parser.add_argument("--install", action="store_true", help="install it beside tricodec")
    arguments = parser.parse_args()
    wheel = make(arguments.output, arguments.name)
    print(wheel)
    if arguments.install and arguments.name == NVCOMP and (theirs := nvidias_nvcomp()):
        print(f"{NVCOMP} is not installed: nvidia.nvcomp is that of {theirs}")
    elif arguments.install:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
        subprocess.run([*pip, "--no-deps", "--no-index", "--force-reinstall", wheel], check=True)


if __name__ == "__main__":
    main()
