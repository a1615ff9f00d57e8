# SPDX-License-Identifier: Apache-2.0
"""README's commands on a system that has nothing yet, timed: the first hour of a newcomer.

python tools/newcomer.py bookworm [--mirror URL] [--command "make demo" ...] [--copy PATH ...] [--include PACKAGES]

As root, with debootstrap. It makes a root with what README asks for (python3, make, g++), puts the last commit into it,
and runs each command there by chroot. It prints the seconds by the clock and of processors.
Settings of this machine's network reach the root by PIP_*, *_PROXY and SSL_CERT_FILE, and by files that --copy names.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

README_ASKS_FOR = "python3,make,g++,ca-certificates"
COMMANDS = ("make demo",)
CHECKOUT = "/tricodec"
_PASSED_ON = ("PIP_", "SSL_CERT", "REQUESTS_CA", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


def bootstrap(root: Path, options: argparse.Namespace) -> None:
    """A root of the distribution's smallest system, and the packages of `--include`."""
    words = [f"--include={options.include}", f"--components={options.components}", "--variant=minbase"]
    words += [f"--keyring={options.keyring}"] if options.keyring else []
    words += [options.suite, str(root), *([options.mirror] if options.mirror else [])]
    subprocess.run(["debootstrap", *words], check=True, stdout=subprocess.DEVNULL)


def check_out(root: Path) -> None:
    """The last commit, as a clone without history."""
    target = root / CHECKOUT.strip("/")
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    subprocess.run(["tar", "-x", "-C", target], input=archive, check=True)


def copy_in(root: Path, paths: Sequence[Path]) -> None:
    """Files and folders of this machine at the same places of the root, links as links."""
    names = [str(path.relative_to("/")) for path in (Path("/etc/resolv.conf"), *paths) if path.exists()]
    archive = subprocess.run(["tar", "-C", "/", "-c", *names], check=True, stdout=subprocess.PIPE).stdout
    subprocess.run(["tar", "-C", root, "-x"], input=archive, check=True)


def run(root: Path, command: str) -> tuple[int, float, float]:
    """The exit status of a command in the root, its seconds, and those of processors; mounts end with it."""
    mounts = f"mount -t proc proc '{root}/proc' && mount --rbind /dev '{root}/dev'"
    inside = f"cd {CHECKOUT} && {command}"
    variables = {name: value for name, value in os.environ.items() if name.upper().startswith(_PASSED_ON)}
    variables |= {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C"}
    program = ["unshare", "--mount", "sh", "-c", f"{mounts} && exec chroot '{root}' sh -c '{inside}'"]
    begun, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    status = subprocess.run(program, env=variables, check=False).returncode
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processors = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return status, time.monotonic() - begun, processors


def name_of(root: Path) -> str:
    """What the system in the root calls itself."""
    lines = (root / "etc/os-release").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)["PRETTY_NAME"].strip('"')


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", help="bookworm, noble, ...")
    parser.add_argument("--mirror", help="where the suite is; default: debootstrap's for Debian")
    parser.add_argument("--components", default="main", help="default: main; of Ubuntu main,universe")
    parser.add_argument("--keyring", help="of the distribution, if debootstrap does not know it")
    parser.add_argument("--include", default=README_ASKS_FOR, help="packages; default: those that README asks for")
    parser.add_argument("--root", type=Path, help="default: build/newcomer/SUITE; it is made new")
    parser.add_argument("--command", action="append", help=f"default: {', '.join(COMMANDS)}")
    parser.add_argument("--copy", action="append", type=Path, default=[], metavar="PATH", help="file or folder")
    options = parser.parse_args()
    root = (options.root or ROOT / "build/newcomer" / options.suite).resolve()
    if platform.system() != "Linux" or os.geteuid() != 0 or shutil.which("debootstrap") is None:
        print("tools/newcomer.py needs Linux, root and debootstrap", file=sys.stderr)
        return 1
    shutil.rmtree(root, ignore_errors=True)
    root.parent.mkdir(parents=True, exist_ok=True)
    bootstrap(root, options)
    copy_in(root, options.copy)
    check_out(root)
    for command in options.command or COMMANDS:
        status, seconds, processors = run(root, command)
        print(f"{name_of(root)}: {command}: {seconds:.0f} s, {processors:.0f} s of processors, status {status}")
        if status != 0:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
