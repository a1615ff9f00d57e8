# SPDX-License-Identifier: Apache-2.0
"""What compiles for a machine of another kind, and runs its programs: Debian's cross compiler, a sysroot, QEMU.

The sysroot is a folder with Debian's packages of that architecture. apt fetches them and checks their signatures; they
are unpacked and not installed, so this machine's own packages stay as they are.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

from library_sources import DEBIAN, ENCODERS

SYSTEMS = Path(__file__).resolve().parents[1] / "build/systems"  # a folder for each architecture
ARCHITECTURES = {"aarch64": "arm64"}  # other than this machine's, with Debian's words for them
SUITE = "bookworm"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
# Beside the encoders: the C and C++ libraries, zlib for FFmpeg, Highway, Python to compile against and to run.
PACKAGES = ("libc6-dev", "libstdc++-12-dev", "zlib1g-dev", "libhwy-dev", f"lib{PYTHON}-dev", PYTHON)


class CrossError(Exception):
    """What is missing for another machine, and what helps."""


@dataclasses.dataclass(frozen=True)
class Target:
    """A kind of machine that wheels are made for.

    Attributes:
        machine: as `uname -m` and a wheel's tag have it.
        debian: Debian's word for it.
        sysroot: the folder with its packages; None for this machine's own kind.
    """

    machine: str
    debian: str
    sysroot: Path | None = None

    @property
    def triple(self) -> str:
        """As compilers have it."""
        return f"{self.machine}-linux-gnu"

    @property
    def libraries(self) -> str:
        """The folders of the sysroot with shared libraries, with colons between."""
        assert self.sysroot is not None
        return ":".join(str(self.sysroot / folder / self.triple) for folder in ("usr/lib", "lib"))

    @property
    def emulator(self) -> list[str]:
        """The start of a command line that runs one of its programs here."""
        if self.sysroot is None:
            return []
        name = f"qemu-{self.machine}-static"
        return [shutil.which(name) or name, "-L", str(self.sysroot)]

    @property
    def python(self) -> str:
        """A Python of that machine."""
        return sys.executable if self.sysroot is None else str(self.sysroot / "usr/bin" / PYTHON)

    def environment(self) -> dict[str, str]:
        """The variables by which pkg-config, Python's build tools and CMake compile for it."""
        if self.sysroot is None:
            return {}
        folders = [self.sysroot / f"usr/lib/{self.triple}/pkgconfig", self.sysroot / "usr/share/pkgconfig"]
        return {
            "PKG_CONFIG_LIBDIR": ":".join(map(str, folders)),
            "CMAKE_TOOLCHAIN_FILE": str(self._toolchain()),
            "CC": f"{self.triple}-gcc",
            "CXX": f"{self.triple}-g++",
            "_PYTHON_HOST_PLATFORM": f"linux-{self.machine}",
        }

    def _toolchain(self) -> Path:
        """CMake's description of the machine; compilers come from CC and CXX, so that a source may name its own."""
        assert self.sysroot is not None
        path = self.sysroot.with_name("toolchain.cmake")
        path.write_text(
            f"set(CMAKE_SYSTEM_NAME Linux)\nset(CMAKE_SYSTEM_PROCESSOR {self.machine})\n"
            f"set(CMAKE_SYSROOT {self.sysroot})\nset(CMAKE_LIBRARY_ARCHITECTURE {self.triple})\n"
            f"set(CMAKE_C_COMPILER_TARGET {self.triple})\nset(CMAKE_CXX_COMPILER_TARGET {self.triple})\n"
            "set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)\n"
            f"set(CMAKE_CROSSCOMPILING_EMULATOR {';'.join(self.emulator)})\n"
        )
        return path

    def meson_file(self) -> Path:
        """Meson's description of the machine."""
        assert self.sysroot is not None
        path = self.sysroot.with_name("meson.ini")
        flags = f"['--sysroot={self.sysroot}']"
        path.write_text(
            f"[binaries]\nc = '{self.triple}-gcc'\nar = '{self.triple}-ar'\nstrip = '{self.triple}-strip'\n"
            f"pkg-config = 'pkg-config'\n[built-in options]\nc_args = {flags}\nc_link_args = {flags}\n"
            f"[host_machine]\nsystem = 'linux'\ncpu_family = '{self.machine}'\ncpu = '{self.machine}'\n"
            "endian = 'little'\n"
        )
        return path

    def package_of(self, library: Path) -> tuple[str, str]:
        """Debian's name and version of the package that a file of the sysroot comes from."""
        assert self.sysroot is not None
        known = json.loads(self.sysroot.with_name("files.json").read_text())
        for path in (library.resolve(), library):
            name = known.get(str(path.relative_to(self.sysroot)))
            if name is not None:
                return name[0], name[1]
        raise CrossError(f"no package of the sysroot has {library}: its terms are not known")


def add_arch(parser: argparse.ArgumentParser) -> None:
    """The argument of tools that can compile for another machine."""
    here = platform.machine()
    choices = [here, *ARCHITECTURES.keys() - {here}]
    parser.add_argument("--arch", default=here, choices=choices, help="of the machine; default: this one's")


def target_of(machine: str, folder: Path) -> Target:
    """This machine's kind, or another one with its sysroot, which is made in `folder` unless it is there.

    Raises:
        CrossError: tools are missing, or apt fails.
    """
    if machine == platform.machine():
        return Target(machine, "")
    target = Target(machine, ARCHITECTURES[machine], folder / "sysroot")
    tools = [f"{target.triple}-g++", target.emulator[0], "apt-get", "dpkg-deb"]
    if missing := [tool for tool in tools if shutil.which(tool) is None]:
        raise CrossError(f"missing: {', '.join(missing)}; run tools/install_system_packages.sh {machine}")
    packages = [*PACKAGES, *ENCODERS.values()]
    stamp = folder / "packages.txt"
    if not stamp.exists() or stamp.read_text().split() != packages:
        _make_sysroot(target, packages, folder)
        stamp.write_text("\n".join(packages))
    return target


def _make_sysroot(target: Target, packages: list[str], folder: Path) -> None:
    assert target.sysroot is not None
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("state/lists/partial", "cache/archives/partial", "sysroot"):
        (folder / name).mkdir(parents=True)
    (folder / "status").touch()
    mirror = DEBIAN[0].removesuffix("/pool/main")
    (folder / "sources.list").write_text(f"deb [signed-by={KEYRING}] {mirror} {SUITE} main\n")
    settings = {
        "APT::Architecture": target.debian,
        "APT::Architectures": target.debian,
        "APT::Sandbox::User": "root",
        "Dir::State": folder / "state",
        "Dir::State::status": folder / "status",
        "Dir::Cache": folder / "cache",
        "Dir::Etc::sourcelist": folder / "sources.list",
        "Dir::Etc::sourceparts": "-",
    }
    apt = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in settings.items())]
    install = ["install", "--yes", "--download-only", "--no-install-recommends", *packages]
    for command in (["update"], install):
        result = subprocess.run([*apt, *command], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise CrossError(f"'apt-get {command[0]}' for {target.debian} failed:\n{result.stdout}{result.stderr}")
    files: dict[str, tuple[str, str]] = {}
    for archive in sorted((folder / "cache/archives").glob("*.deb")):
        subprocess.run(["dpkg-deb", "--extract", archive, target.sysroot], check=True)
        fields = _output("dpkg-deb", "--show", "--showformat=${Package} ${Version}", archive).split()
        for line in _output("dpkg-deb", "--contents", archive).splitlines():
            name = re.sub(r" (->|link to) .*", "", line).split(maxsplit=5)[-1].removeprefix("./")
            files[name] = (fields[0], fields[1])
    folder.joinpath("files.json").write_text(json.dumps(files))
    for name in ("cache", "state"):
        shutil.rmtree(folder / name)
    for link in target.sysroot.rglob("*"):
        if link.is_symlink() and (aim := link.readlink()).is_absolute():  # else libm.so is that of this machine
            link.unlink()
            link.symlink_to(os.path.relpath(f"{target.sysroot}{aim}", link.parent))
    # Their paths begin in the sysroot.
    for description in target.sysroot.rglob("pkgconfig/*.pc"):
        if not description.is_symlink():
            text = description.read_text()
            description.write_text(re.sub(r"(^\w+=|-[IL])/usr", rf"\1{target.sysroot}/usr", text, flags=re.MULTILINE))


def _output(*command: str | os.PathLike[str]) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
