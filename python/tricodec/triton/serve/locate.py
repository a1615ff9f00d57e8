# SPDX-License-Identifier: Apache-2.0
"""Finding a tritonserver on this machine, and its parts."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

ENVIRONMENT_VARIABLE = "TRICODEC_TRITONSERVER"
CONTAINER_BINARY = Path("/opt/tritonserver/bin/tritonserver")


@dataclasses.dataclass(frozen=True, slots=True)
class Installation:
    """One tritonserver and the folders it needs.

    Attributes:
        binary: the executable.
        backends: the backend directory.
        libraries: folders for LD_LIBRARY_PATH.
        stubs: folder with a Python backend stub for each minor version of Python (the layout of the nvidia-pytriton
            wheel); None if the stub is in the backend directory.
        origin: the place where it was found, for messages.
    """

    binary: Path
    backends: Path
    libraries: tuple[Path, ...]
    stubs: Path | None
    origin: str

    def python_stub(self) -> Path:
        """The stub for the running interpreter."""
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        if self.stubs is None:
            stub = self.backends / "python" / "triton_python_backend_stub"
            if not stub.is_file():
                raise RuntimeError(
                    f"{self.binary} ({self.origin}) has no Python backend: {stub} is missing; "
                    "use an image or a package of Triton that contains the python backend"
                )
            needed = _linked_python(stub)
            if needed is not None and needed != version:
                raise RuntimeError(
                    f"the Python backend of {self.binary} ({self.origin}) is built for Python {needed}, this is Python "
                    f"{version}; install tricodec for Python {needed} and run `tricodec serve` with that"
                )
            return stub
        stub = self.stubs / version / "triton_python_backend_stub"
        if not stub.is_file():
            found = ", ".join(sorted(path.name for path in self.stubs.iterdir())) or "none"
            raise RuntimeError(
                f"{self.binary} ({self.origin}) has Python backend stubs for Python {found}, not for {version}; "
                "run tricodec under one of those versions"
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
    if named:
        origin = "given" if path else f"from {ENVIRONMENT_VARIABLE}"
        binary = Path(named)
        if binary.is_dir():
            binary = binary / "bin" / "tritonserver"
        if not os.access(binary, os.X_OK):
            raise FileNotFoundError(
                f"no tritonserver at {binary} ({origin}); name the executable, or the folder that has bin/tritonserver"
            )
        return _describe(binary, origin)
    for binary, origin in _candidates():
        if os.access(binary, os.X_OK):
            return _describe(binary, origin)
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
        libraries = root.parent.parent / "nvidia_pytriton.libs"
        return Installation(binary, root / "backends", (libraries,), stubs, origin)
    return Installation(binary, root / "backends", (root / "lib",), None, origin)


def _linked_python(stub: Path) -> str | None:
    """The version in the name of the libpython that the stub is linked with."""
    data = stub.read_bytes()
    at = data.find(b"libpython3.")
    if at < 0:
        return None
    minor = data[at + len(b"libpython3.") :].split(b".", 1)[0]
    return f"3.{minor.decode()}" if minor.isdigit() else None
