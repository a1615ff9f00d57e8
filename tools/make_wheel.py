# SPDX-License-Identifier: Apache-2.0
"""Makes the wheel that carries its libraries, for machines without FFmpeg, in build/wheel.

python tools/make_wheel.py [--output build/wheel] [--encoders libx264,...] [--arch aarch64]

FFmpeg lies beside libtricodec.so, compression libraries and dav1d are inside of these; what they take from the system
beyond what every Linux has (encoders, Highway) auditwheel adds. The terms of all of them are in tricodec/licenses.
With --arch the wheel is for another kind of machine, without CUDA. docs/howto/packaging.md tells more.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from build_libraries import ROOT
from cross import PYTHON, SYSTEMS, CrossError, Target, add_arch, target_of
from library_sources import ENCODERS, SOURCES
from wheel_sbom import SystemLibrary, sbom, write_sbom

BIN = Path(sys.executable).parent


class WheelError(Exception):
    """What prevents a wheel, and what helps."""


def step(text: str) -> None:
    """Prints what begins, as some steps take minutes."""
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def run(*command: str | Path, **environment: str) -> str:
    variables = {**os.environ, **environment}
    words = [str(part) for part in command]
    result = subprocess.run(words, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise WheelError(f"'{' '.join(map(str, command))}' failed:\n{result.stdout}{result.stderr}")
    return result.stdout


def only_wheel(folder: Path, pattern: str = "*.whl") -> Path:
    wheels = list(folder.glob(pattern))
    if len(wheels) != 1:
        raise WheelError(f"{folder} holds {len(wheels)} wheels, not one")
    return wheels[0]


def libraries_of(target: Target) -> Path:
    """The prefix of the codec libraries."""
    return ROOT / ("build/libraries" if target.sysroot is None else f"build/libraries-{target.machine}")


def build(target: Target, work: Path) -> Path:
    """The wheel with FFmpeg beside libtricodec.so. The DALI plugin is bound to one DALI; users compile theirs."""
    defines = {
        "TRICODEC_LIBRARIES": libraries_of(target),
        "TRICODEC_BUILD_DALI": "OFF",
        "TRICODEC_CUDA_ARCHITECTURES": "all",
        "CMAKE_CXX_COMPILER_LAUNCHER": "ccache" if shutil.which("ccache") else "",
    }
    if target.sysroot is not None:
        defines |= {"TRICODEC_CUDA": "OFF", "Python_INCLUDE_DIR": target.sysroot / "usr/include" / PYTHON}
        suffix = f".cpython-3{sys.version_info.minor}-{target.triple}.so"
        defines |= {"PYTHON_MODULE_EXTENSION": suffix, "PYTHON_MODULE_DEBUG_POSTFIX": ""}
    settings = {"build-dir": work / "cc", **{f"cmake.define.{name}": value for name, value in defines.items()}}
    options = [f"--config-settings={name}={value}" for name, value in settings.items()]
    folder = work / "plain"
    shutil.rmtree(folder, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "wheel"]
    run(*pip, "--no-build-isolation", "--no-deps", "-w", folder, *options, ".", **target.environment())
    return only_wheel(folder)


def repair(wheel: Path, target: Target, work: Path) -> Path:
    """The same wheel with the system's libraries that it needs, tagged with the oldest C library that it runs with."""
    folder = work / "repaired"
    shutil.rmtree(folder, ignore_errors=True)
    command = ["env", f"PATH={BIN}:/usr/local/bin:/usr/bin:/bin", "auditwheel", "repair", "--plat", "auto"]
    command += [] if target.sysroot is None else ["--ldpaths", target.libraries]
    run(*command, "--wheel-dir", folder, wheel)
    return only_wheel(folder)


def owner(path: Path, target: Target) -> tuple[str, str]:
    """The distribution's package that a library file belongs to, and its version."""
    if target.sysroot is not None:
        return target.package_of(path)
    for candidate in dict.fromkeys((path, path.resolve(), Path("/lib") / path.resolve().relative_to("/usr/lib"))):
        result = subprocess.run(["dpkg", "-S", str(candidate)], capture_output=True, text=True, check=False)
        if result.returncode == 0:
            package = result.stdout.split(":")[0]
            return package, run("dpkg-query", "--show", "--showformat=${Version}\\n", package).splitlines()[0]
    raise WheelError(f"no package of this system owns {path}: its terms are not known, and it cannot be passed on")


def add_terms(wheel: Path, plain: Path, target: Target, work: Path, output: Path, encoders: list[str]) -> Path:
    """Puts the distribution's copyright file of each added library into the wheel, and the list of all parts."""
    tree = work / "unpacked"
    shutil.rmtree(tree, ignore_errors=True)
    run(sys.executable, "-m", "wheel", "unpack", "--dest", tree, wheel)
    (top,) = tree.iterdir()
    needed = loaded_from(plain, target, work)
    added = []
    for library in sorted((top / "tricodec.libs").iterdir()):
        name = re.sub(r"-[0-9a-f]{8}(?=\.)", "", library.name, count=1)  # auditwheel's mark
        path = next(
            (path for needs, path in needed.items() if Path(path).resolve().name == name or needs == name), None
        )
        if path is None:
            raise WheelError(f"where {library.name} comes from is not known")
        package, version = owner(Path(path), target)
        terms = top / "tricodec/licenses" / package
        terms.mkdir(parents=True, exist_ok=True)
        shutil.copy(f"{target.sysroot or ''}/usr/share/doc/{package}/copyright", terms)
        added.append(SystemLibrary(package, version, library.name))
    (dist_info,) = top.glob("*.dist-info")
    write_sbom(dist_info, sbom((ROOT / "VERSION").read_text().strip(), list(SOURCES), encoders, added))
    output.mkdir(parents=True, exist_ok=True)
    wheels = f"tricodec-*_{target.machine}.whl"
    for old in output.glob(wheels):
        old.unlink()
    run(sys.executable, "-m", "wheel", "pack", "--dest-dir", output, top)
    return only_wheel(output, wheels)


def loaded_from(wheel: Path, target: Target, work: Path) -> dict[str, str]:
    """The libraries that the native files of `wheel` load, with their paths."""
    tree = work / "plain-unpacked"
    shutil.rmtree(tree, ignore_errors=True)
    run(sys.executable, "-m", "wheel", "unpack", "--dest", tree, wheel)
    if target.sysroot is not None:  # ldd runs what it reads
        folders = [Path(folder) for folder in target.libraries.split(":")]
        return {path.name: str(path) for folder in folders for path in folder.glob("*.so*")}
    paths: dict[str, str] = {}
    for native in tree.rglob("*.so*"):
        paths.update(re.findall(r"^\s*(\S+) => (/\S+)", run("ldd", native), re.MULTILINE))
    return paths


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "build/wheel", help="default: build/wheel")
    parser.add_argument("--encoders", default=",".join(ENCODERS), help="as of tools/build_libraries.py")
    add_arch(parser)
    arguments = parser.parse_args()
    output = arguments.output.resolve()
    work = ROOT / "build/wheel" / ("work" if arguments.arch == platform.machine() else f"work-{arguments.arch}")
    try:
        target = target_of(arguments.arch, SYSTEMS / arguments.arch)
        libraries = ["--prefix", libraries_of(target), "--arch", arguments.arch, "--encoders", arguments.encoders]
        archives = ["--archives", ROOT / "build/libraries/archives"]
        step("the codec libraries")
        subprocess.run([sys.executable, "tools/build_libraries.py", *libraries, *archives], cwd=ROOT, check=True)
        step("compiling tricodec (ten minutes on two cores, seconds with ccache)")
        plain = build(target, work)
        step("adding the libraries of the system")
        repaired = repair(plain, target, work)
        step("adding the terms of all parts")
        wheel = add_terms(repaired, plain, target, work, output, arguments.encoders.split(","))
        print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB")
    except (WheelError, CrossError, subprocess.CalledProcessError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
