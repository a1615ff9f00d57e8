# SPDX-License-Identifier: Apache-2.0
"""Builds the codec libraries that tricodec's wheel carries (tools/library_sources.py) into a prefix.

python tools/build_libraries.py [--prefix build/libraries] [--encoders libx264,...] [--archives FOLDER] [--arch aarch64]

What is there already in the same version with the same options is not built again. `make build LIBRARIES=own` and
`make wheel` call this; docs/howto/packaging.md tells why.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import urllib.request
from pathlib import Path

from cross import SYSTEMS, CrossError, Target, add_arch, target_of
from library_sources import ENCODERS, GPL_ENCODERS, SOURCES, Source

ROOT = Path(__file__).resolve().parents[1]
X86 = {"x86_64", "AMD64"}
CHUNK = 1 << 20


class BuildError(Exception):
    """What could not be fetched or built, and what helps."""


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def fetch(source: Source, archives: Path) -> Path:
    """The archive with the pinned SHA-256: from `archives`, else from the first address that has it."""
    path = archives / source.archive
    if path.exists() and sha256_of(path) == source.sha256:
        return path
    archives.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    failures = []
    for address in source.addresses:
        try:
            with urllib.request.urlopen(address, timeout=60) as reply, partial.open("wb") as file:
                shutil.copyfileobj(reply, file, CHUNK)
        except OSError as error:
            failures.append(f"{address}: {error}")
            continue
        found = sha256_of(partial)
        if found == source.sha256:
            return partial.rename(path)
        failures.append(f"{address}: its SHA-256 is {found}, not {source.sha256}")
    partial.unlink(missing_ok=True)
    raise BuildError(
        f"{source.name} {source.version} could not be fetched; put {source.archive} into {archives}:\n  "
        + "\n  ".join(failures)
    )


def unpack(archive: Path, folder: Path) -> Path:
    """The archive's one folder, unpacked again below `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tarfile.open(archive) as tar:
        if hasattr(tarfile, "data_filter"):
            tar.extractall(folder, filter="data")
        else:  # Python before 3.10.12; the archive has the pinned digest
            tar.extractall(folder)
    tops = [path for path in folder.iterdir() if path.is_dir()]
    if len(tops) != 1:
        raise BuildError(f"{archive.name} holds {len(tops)} folders at its top, not one")
    return tops[0]


class Builder:
    """Builds one source after another into `prefix`; `work` holds the sources and the logs."""

    def __init__(self, prefix: Path, work: Path, encoders: list[str], jobs: int, target: Target | None = None) -> None:
        self.prefix = prefix
        self.work = work
        self.encoders = encoders
        self.jobs = jobs
        self.target = target or Target(platform.machine(), "")
        tools = Path(sys.executable).parent
        self.environment = {
            **os.environ,
            **self.target.environment(),
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            # The prefix first, then the system's: encoders come from there.
            "PKG_CONFIG_PATH": f"{prefix / 'lib/pkgconfig'}{os.pathsep}{os.environ.get('PKG_CONFIG_PATH', '')}",
            # FFmpeg's libraries find each other where they lie, wherever a wheel is unpacked; its program too.
            "LD_RUN_PATH": "$ORIGIN:$ORIGIN/../lib",
        }

    def options(self, source: Source) -> list[str]:
        """The options of the source and, of FFmpeg, those that its encoders ask for."""
        if source.name != "ffmpeg":
            return list(source.options)
        gpl = ["--enable-gpl"] if GPL_ENCODERS & set(self.encoders) else []
        return [*source.options, *gpl, *(f"--enable-{name}" for name in self.encoders)]

    def stamp(self, source: Source) -> tuple[Path, str]:
        """The file that says what was built, and what it says."""
        text = json.dumps([source.version, source.sha256, source.system, self.options(source)])
        return self.prefix / "share/tricodec" / f"{source.name}.json", text

    def build(self, source: Source, archives: Path) -> None:
        """Builds and installs `source` unless that is done."""
        stamp, text = self.stamp(source)
        if stamp.exists() and stamp.read_text() == text:
            return
        print(f"== {source.name} {source.version}", flush=True)
        tree = unpack(fetch(source, archives), self.work / source.name)
        log = self.work / f"{source.name}.log"
        log.unlink(missing_ok=True)
        getattr(self, f"_{source.system}")(source, tree, log)
        if source.pkg_config is not None:
            self._describe(source)
        notices = self.prefix / "share/licenses" / source.name
        shutil.rmtree(notices, ignore_errors=True)
        for name in source.licenses:
            notices.mkdir(parents=True, exist_ok=True)
            shutil.copy(tree / name, notices)
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text(text)

    def _run(self, log: Path, folder: Path, *command: str | Path) -> None:
        with log.open("ab") as file:
            file.write(f"$ {' '.join(map(str, command))}\n".encode())
            file.flush()
            result = subprocess.run(
                [str(part) for part in command], cwd=folder, env=self.environment, stdout=file, stderr=file, check=False
            )
        if result.returncode != 0:
            tail = "\n  ".join(log.read_text(errors="replace").splitlines()[-15:])
            raise BuildError(f"'{command[0]}' failed with status {result.returncode}; {log} ends:\n  {tail}")

    def _configure(self, source: Source, tree: Path, log: Path) -> None:
        cross = []
        if self.target.sysroot is not None:
            cross = ["--enable-cross-compile", "--target-os=linux", f"--arch={self.target.machine}"]
            cross += [f"--cross-prefix={self.target.triple}-", f"--sysroot={self.target.sysroot}"]
            cross += ["--pkg-config=pkg-config"]
        self._run(log, tree, "./configure", f"--prefix={self.prefix}", *cross, *self.options(source))
        self._make(source, tree, log)

    def _make(self, source: Source, tree: Path, log: Path) -> None:
        del source
        self._run(log, tree, "make", f"-j{self.jobs}", f"PREFIX={self.prefix}")
        self._run(log, tree, "make", f"PREFIX={self.prefix}", "install")

    def _meson(self, source: Source, tree: Path, log: Path) -> None:
        options = ["--buildtype=release", "--default-library=static", "--libdir=lib", f"--prefix={self.prefix}"]
        options += [] if self.target.sysroot is None else [f"--cross-file={self.target.meson_file()}"]
        self._run(log, tree, "meson", "setup", "build", *options, *self.options(source))
        self._run(log, tree, "ninja", "-C", "build", f"-j{self.jobs}", "install")

    def _cmake(self, source: Source, tree: Path, log: Path) -> None:
        options = {
            "CMAKE_BUILD_TYPE": "Release",
            "CMAKE_INSTALL_PREFIX": self.prefix,
            "CMAKE_INSTALL_LIBDIR": "lib",
            "CMAKE_POSITION_INDEPENDENT_CODE": "ON",
            "CMAKE_POLICY_VERSION_MINIMUM": "3.5",
            "BUILD_SHARED_LIBS": "OFF",
        }
        defines = [f"-D{name}={value}" for name, value in options.items()]
        self._run(log, tree, "cmake", "-S", source.folder, "-B", "b", "-G", "Ninja", *defines, *self.options(source))
        self._run(log, tree, "cmake", "--build", "b", f"-j{self.jobs}", "--target", "install")

    def _describe(self, source: Source) -> None:
        """Writes the pkg-config file of a library that brings none."""
        assert source.pkg_config is not None
        name, libraries = source.pkg_config
        folder = self.prefix / "lib/pkgconfig"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.pc").write_text(
            f"prefix={self.prefix}\nName: {name}\nDescription: {source.name}\nVersion: {source.version}\n"
            f"Libs: -L${{prefix}}/lib {libraries}\nCflags: -I${{prefix}}/include\n"
        )


def missing_tools(path: str, machine: str) -> list[str]:
    """What the build needs and `path` lacks, with what to install."""
    needed = {
        "make": "make",
        "pkg-config": "pkg-config",
        "gcc": "gcc",
        "clang++": "clang",
        "cmake": "tools/requirements-build.txt",
        "ninja": "tools/requirements-build.txt",
        "meson": "tools/requirements-libraries.txt",
    }
    if machine in X86:
        needed["nasm"] = "nasm"
    return [f"{tool} ({package})" for tool, package in needed.items() if shutil.which(tool, path=path) is None]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path, default=ROOT / "build/libraries", help="default: build/libraries")
    add_arch(parser)
    parser.add_argument(
        "--encoders",
        default=",".join(ENCODERS),
        help="the system's encoders that FFmpeg takes (default: %(default)s); without libx264 and libx265 it is LGPL",
    )
    parser.add_argument(
        "--archives", type=Path, help="where archives are looked for and kept; default: PREFIX/archives"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="default: one for each processor")
    arguments = parser.parse_args()

    encoders = [name for name in arguments.encoders.split(",") if name]
    if unknown := sorted(set(encoders) - set(ENCODERS)):
        parser.error(f"--encoders names {', '.join(unknown)}; known are {', '.join(ENCODERS)}")
    prefix = arguments.prefix.resolve()
    try:
        target = target_of(arguments.arch, SYSTEMS / arguments.arch)
        builder = Builder(prefix, prefix / "work", encoders, arguments.jobs, target)
        if missing := missing_tools(builder.environment["PATH"], target.machine):
            raise BuildError(f"these tools are missing: {', '.join(missing)}")
        for source in SOURCES:
            builder.build(source, arguments.archives or prefix / "archives")
    except (BuildError, CrossError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
