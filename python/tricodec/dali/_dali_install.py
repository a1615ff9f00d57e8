# SPDX-License-Identifier: Apache-2.0
"""Facts of the installed DALI that compiling a plugin needs.

Run as a program it prints them as JSON for CMake; it therefore imports nothing of tricodec.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

#: What a directory of CUDA's headers must have for DALI's own. CUDA 13's pip packages ship the three apart.
CUDA_HEADERS = ("cuda_runtime_api.h", "crt/host_defines.h", "nv/target")


@dataclass(frozen=True)
class DaliInstall:
    """The installed DALI."""

    version: str
    include_dirs: tuple[str, ...]
    library_dir: str  # of libdali.so
    defines: tuple[str, ...]  # what its binary interface needs, and TRICODEC_DALI_VERSION, 204 for 2.4
    cuda_include_dir: str  # empty if there are none here


def describe() -> DaliInstall:
    """Look at the installed DALI."""
    from nvidia import dali
    from nvidia.dali import sysconfig

    flags = sysconfig.get_compile_flags()
    major, minor = (int(number) for number in dali.__version__.split(".")[:2])
    return DaliInstall(
        version=dali.__version__,
        include_dirs=tuple(flag[2:] for flag in flags if flag.startswith("-I")),
        library_dir=str(Path(dali.__file__).parent),
        defines=(*(flag for flag in flags if flag.startswith("-D")), f"-DTRICODEC_DALI_VERSION={major * 100 + minor}"),
        cuda_include_dir=find_cuda_headers(),
    )


def find_cuda_headers() -> str:
    """The directory of CUDA's run-time headers: a toolkit's, conda's or those of NVIDIA's pip packages; else empty."""
    named = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    candidates = [Path(folder, "include") for folder in named if folder]
    candidates += sorted(Path("/usr/local").glob("cuda-*/include"), reverse=True)
    if prefix := os.environ.get("CONDA_PREFIX"):
        candidates += [Path(prefix, "targets/x86_64-linux/include"), Path(prefix, "include")]
    for root in sys.path:
        packages = Path(root or ".") / "nvidia"
        candidates.append(packages / "cuda_runtime" / "include")  # nvidia-cuda-runtime-cu12
        candidates += sorted(packages.glob("cu[0-9]*/include"), reverse=True)  # nvidia-cuda-runtime from 13 on
    candidates.append(Path("/usr/include"))
    return next((str(each) for each in candidates if all((each / name).is_file() for name in CUDA_HEADERS)), "")


if __name__ == "__main__":
    print(json.dumps(asdict(describe())))
