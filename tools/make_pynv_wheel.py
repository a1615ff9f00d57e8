# SPDX-License-Identifier: Apache-2.0
"""Makes a wheel of metadata that is named PyNvVideoCodec and requires tricodec, in build/wheel.

python tools/make_pynv_wheel.py [--output build/wheel]

tricodec's own wheel has the import package PyNvVideoCodec. With this one beside it, packages that require the
distribution PyNvVideoCodec install without NVIDIA's. The wheel holds no code.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import runpy
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# A fixed time makes equal wheels of equal sources.
TIME = (2026, 1, 1, 0, 0, 0)


def contents() -> dict[str, str]:
    """The files of the wheel but its RECORD, by name."""
    releases: dict[str, str] = runpy.run_path(str(ROOT / "python/PyNvVideoCodec/_api.py"))["RELEASES"]
    # The local part says that this is not NVIDIA's release. Requirements ignore it, and PyPI refuses it.
    version = f"{releases['2.2']}+tricodec"
    folder = f"pynvvideocodec-{version}.dist-info"
    metadata = f"""Metadata-Version: 2.1
Name: PyNvVideoCodec
Version: {version}
Summary: Metadata only: tricodec has the import package PyNvVideoCodec. Not a release of NVIDIA.
License: Apache-2.0
Requires-Python: >=3.10
Requires-Dist: tricodec=={(ROOT / "VERSION").read_text().strip()}
"""
    wheel = "Wheel-Version: 1.0\nGenerator: tricodec\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    return {f"{folder}/METADATA": metadata, f"{folder}/WHEEL": wheel}


def make(output: Path) -> Path:
    """Writes the wheel to the folder `output` and returns it."""
    files = contents()
    folder = next(iter(files)).split("/")[0]
    lines = []
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(text.encode())}\n")
    record = f"{folder}/RECORD"
    files[record] = "".join(lines) + f"{record},,\n"
    output.mkdir(parents=True, exist_ok=True)
    path = output / f"{folder.removesuffix('.dist-info')}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name, TIME), text)
    return path


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "build/wheel", help="the folder for the wheel")
    print(make(parser.parse_args().output))


if __name__ == "__main__":
    main()
