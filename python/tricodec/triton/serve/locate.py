# SPDX-License-Identifier: Apache-2.0
"""Finding a tritonserver on this machine and its parts, and the Python environment in which it runs our models.

The stub of Triton's Python backend embeds an isolated interpreter that ignores PYTHONPATH. It takes its packages from
the environment that EXECUTION_ENV_PATH names, and stubs before release 24.12 pass corrupted tensors to models under
NumPy 2. So every server gets a separate small virtual environment. Its one `.pth` file lists first a NumPy below 2
(downloaded once into the cache), then the folders of the running `tricodec`, then those of PYTHONPATH, which may hold
other packages of the models, such as DALI.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from tricodec.installation import cache_dir

ENVIRONMENT_VARIABLE = "TRICODEC_TRITONSERVER"
CONTAINER_BINARY = Path("/opt/tritonserver/bin/tritonserver")
NUMPY_VERSION = "1.26.4"
"""The last release before NumPy 2."""


@dataclasses.dataclass(frozen=True, slots=True)
class Installation:
    """One tritonserver and the folders it needs."""

    binary: Path
    """The executable."""
    backends: Path
    """The backend directory."""
    libraries: Path
    """The folder for LD_LIBRARY_PATH, which may not exist."""
    stubs: Path | None
    """The folder with a Python backend stub for each version of Python, of the nvidia-pytriton wheel; None if the stub
    is in the backend directory."""
    origin: str
    """The place where it was found, for messages."""

    def python_stub(self) -> Path:
        """The stub for the running interpreter."""
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        server = f"{self.binary} ({self.origin})"
        stub = (self.stubs / version if self.stubs else self.backends / "python") / "triton_python_backend_stub"
        if not stub.is_file() and self.stubs is None:
            remedy = "use an image or a package of Triton that contains the python backend"
            raise RuntimeError(f"{server} has no Python backend: {stub} is missing; {remedy}")
        if not stub.is_file() and self.stubs is not None:
            found = ", ".join(sorted(path.name for path in self.stubs.iterdir())) or "none"
            remedy = "run tricodec under one of those versions"
            raise RuntimeError(f"{server} has Python backend stubs for Python {found}, not for {version}; {remedy}")
        linked = re.search(rb"libpython(3\.\d+)\.", stub.read_bytes()) if self.stubs is None else None
        if linked and (needed := linked[1].decode()) != version:
            raise RuntimeError(
                f"the Python backend of {server} is built for Python {needed}, this is Python {version}; install "
                f"tricodec for Python {needed} and run `tricodec serve` with that"
            )
        return stub


def find_tritonserver(path: str | os.PathLike[str] | None = None) -> Installation:
    """Find a tritonserver.

    The places in their order: `path`, the environment variable TRICODEC_TRITONSERVER, the folder of NVIDIA's containers
    (/opt/tritonserver), PATH, the nvidia-pytriton wheel.

    Args:
        path: the executable, or a folder with bin/tritonserver.

    Raises:
        FileNotFoundError: there is none; the text names the places.
    """
    named = path or os.environ.get(ENVIRONMENT_VARIABLE)
    origin = "given" if path else f"from {ENVIRONMENT_VARIABLE}"
    for place, found in [(Path(named), origin)] if named else _candidates():
        binary = place / "bin" / "tritonserver" if place.is_dir() else place
        if os.access(binary, os.X_OK):
            return _describe(binary, found)
    if named:
        raise FileNotFoundError(
            f"no tritonserver at {binary} ({origin}); name the executable, or the folder that has bin/tritonserver"
        )
    raise FileNotFoundError(
        f"no tritonserver found: not in {ENVIRONMENT_VARIABLE}, {CONTAINER_BINARY}, PATH or the nvidia-pytriton wheel. "
        "`pip install --no-deps nvidia-pytriton` brings one; or run inside NVIDIA's tritonserver container"
    )


def _candidates() -> Iterator[tuple[Path, str]]:
    yield CONTAINER_BINARY, "container"
    on_path = shutil.which("tritonserver")
    if on_path:
        yield Path(on_path), "PATH"
    # Only the files of the wheel are used; pytriton is not imported.
    wheel = importlib.util.find_spec("pytriton")
    if wheel is not None and wheel.origin:
        yield Path(wheel.origin).parent / "tritonserver" / "bin" / "tritonserver", "nvidia-pytriton wheel"


def _describe(binary: Path, origin: str) -> Installation:
    binary = binary.resolve()
    root = binary.parent.parent
    stubs = root / "python_backend_stubs"
    if stubs.is_dir():
        return Installation(binary, root / "backends", root.parent.parent / "nvidia_pytriton.libs", stubs, origin)
    return Installation(binary, root / "backends", root / "lib", None, origin)


def create_environment(folder: Path) -> Path:
    """Creates a virtual environment for the stub of the Python backend, and returns it, for EXECUTION_ENV_PATH."""
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
