# SPDX-License-Identifier: Apache-2.0
"""The Python environment in which Triton's Python backend runs our models.

The stub of Triton's Python backend embeds an isolated interpreter that ignores PYTHONPATH. It takes its packages from
the environment that EXECUTION_ENV_PATH names, and stubs before release 24.12 pass corrupted tensors to models under
NumPy 2. So every server gets a separate small virtual environment. Its one `.pth` file lists first a NumPy below 2
(downloaded once into the cache), then the folders of the running `tricodec`, then those of PYTHONPATH, which may hold
other packages of the models, such as DALI.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import sysconfig
import tempfile
import venv
from importlib import metadata
from pathlib import Path

from tricodec.installation import cache_dir

NUMPY_VERSION = "1.26.4"
"""The last release before NumPy 2."""


def create_environment(folder: Path) -> Path:
    """Creates a virtual environment for the stub of the Python backend, and returns it, for EXECUTION_ENV_PATH.

    Raises:
        RuntimeError: NumPy below 2 is neither installed nor available.
    """
    venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
    numpy = _running_numpy()
    # PYTHONPATH may have added the running NumPy from another folder.
    paths = [numpy if numpy is not None else _numpy_directory(), *_package_directories()]
    site_packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    # Lines of a .pth file are appended to sys.path in their order: the first NumPy wins.
    (site_packages / "tricodec.pth").write_text("".join(f"{path}\n" for path in paths))
    return folder


def _running_numpy() -> Path | None:
    """The folder of this process's NumPy; None if that is not below 2."""
    try:
        found = metadata.distribution("numpy")
    except metadata.PackageNotFoundError:
        return None
    return Path(str(found.locate_file(""))) if int(found.version.split(".")[0]) < 2 else None


def _package_directories() -> list[Path]:
    """The folders of `tricodec` and of the packages that it imports."""
    named = [Path(path).absolute() for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    installed = [Path(sysconfig.get_path(key)) for key in ("purelib", "platlib")]
    return list(dict.fromkeys([Path(__file__).resolve().parents[3], *named, *installed]))


def _numpy_directory() -> Path:
    """A folder with NumPy below 2 for this interpreter, downloaded on first use."""
    folder = cache_dir() / f"numpy-{NUMPY_VERSION}-{sysconfig.get_config_var('SOABI')}"
    if (folder / "numpy").is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="numpy-download-") as scratch:
        unfinished = Path(scratch) / "site"
        command = [
            *_pip(Path(scratch)), "install", "--quiet", "--disable-pip-version-check", "--no-deps",
            "--only-binary", ":all:", "--target", str(unfinished), f"numpy=={NUMPY_VERSION}",
        ]  # fmt: skip
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise RuntimeError(
                f"Triton's Python backend needs NumPy below 2, and numpy {NUMPY_VERSION} could not be installed into "
                f"{folder} for Python {sys.version.split()[0]}: {result.stderr.strip()[-1500:]}\n"
                "Give this machine access to a package index, or run tricodec in an environment that has numpy<2"
            )
        try:
            unfinished.rename(folder)  # atomic, for servers that start at the same time
        except OSError:
            if not (folder / "numpy").is_dir():
                raise
    return folder


def _pip(scratch: Path) -> list[str]:
    """A command that runs pip: this interpreter's, or else the one of `venv`."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    helper = scratch / "pip"
    venv.EnvBuilder(symlinks=True, with_pip=True).create(helper)
    return [str(helper / "bin" / "python"), "-m", "pip"]
