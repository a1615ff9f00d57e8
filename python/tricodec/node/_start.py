# SPDX-License-Identifier: Apache-2.0
"""Where the node of a user is, what it may use, and how it starts."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from tricodec.errors import Error

_GIB = 1 << 30
_MOST_PATH_BYTES = 107
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


class NodeLostError(Error):
    """No node answers at the socket, or the node ended while it had a request. Ask again: a request has no effect."""


class RunsAlreadyError(RuntimeError):
    """Another node has the socket."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a node may use. `tricodec node start` takes these as options.

    Raises:
        ValueError: a number is out of its range.
    """

    socket: str = ""
    """Path of its socket; "" is `socket_path`."""
    gpus: tuple[int, ...] | None = None
    """Numbers of the GPUs; None is all that can be used, () is none."""
    memory: int = 0
    """Bytes of host memory for results and kept frames; 0 is 8 GiB, at most half of the machine's memory."""
    gpu_memory: int = 4 * _GIB
    """Bytes of each GPU, all that the node takes there at its peak: context, decoders, results and kept frames."""
    workers: int = 0
    """Processes that decode on the CPU; 0 is one for each core."""
    worker_memory: int = 8 * _GIB
    """Bytes of private memory of each of them: 16 references of 8192x8192 pixels in 10 bits, and as many threads."""
    client_share: float = 0.5
    """The part of a device's memory that one client may hold."""
    timeout_s: float = 120.0
    """Seconds after which a request that is decoded ends in a TimeoutError."""
    wait_s: float = 120.0
    """Seconds after which a request that waits for memory ends in a TimeoutError."""
    idle_s: float = 0.0
    """Seconds without a client after which the node ends; 0 is never."""

    def __post_init__(self) -> None:
        for name in ("memory", "gpu_memory", "workers", "worker_memory", "wait_s", "idle_s"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} is {getattr(self, name)}; expected 0 or more")
        if not self.timeout_s > 0:
            raise ValueError(f"timeout_s is {self.timeout_s}; expected seconds, more than 0")
        if not 0 < self.client_share <= 1:
            raise ValueError(f"client_share is {self.client_share}; expected a part, more than 0 and at most 1")

    @property
    def host_memory(self) -> int:
        """`memory`, decided."""
        installed = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return self.memory or min(8 * _GIB, installed // 2)

    @property
    def num_workers(self) -> int:
        """`workers`, decided."""
        return self.workers or len(os.sched_getaffinity(0))


def socket_path() -> str:
    """The socket of this user's node: that of TRICODEC_NODE if it names one, else in the folder for such files."""
    named = os.environ.get("TRICODEC_NODE", "off")
    if named not in ("off", "auto", ""):
        return named
    folder = os.environ.get("XDG_RUNTIME_DIR")
    if folder and os.access(folder, os.W_OK):
        return str(Path(folder) / "tricodec-node.sock")
    return str(Path(tempfile.gettempdir()) / f"tricodec-{os.getuid()}" / "node.sock")


def checked_path(path: str) -> Path:
    """The absolute path of a socket, in a folder that is of no other user, if it is there.

    Raises:
        ValueError: the path is too long for a socket.
        PermissionError: the folder is another user's.
    """
    path = os.path.abspath(path)  # noqa: PTH100  (a node has another working directory)
    if len(os.fsencode(path)) > _MOST_PATH_BYTES:
        raise ValueError(f"the path of the node's socket, {path!r}, is longer than {_MOST_PATH_BYTES} bytes")
    folder = Path(path).parent
    if folder.exists() and folder.stat().st_uid not in (os.getuid(), 0):
        raise PermissionError(f"the folder '{folder}' of the node's socket is of another user; name another socket")
    return Path(path)


def start(settings: Settings | None = None, *, python: Path | None = None) -> str:
    """Start a node in the background, and return the path of its socket when it takes requests.

    Args:
        settings: what it may use; None is the defaults.
        python: the interpreter, which imports tricodec; None is that of this process, with its packages.

    Raises:
        RunsAlreadyError: another node has the socket.
        RuntimeError: it did not start; the text has the reason.
    """
    settings = settings or Settings()
    path = checked_path(settings.socket or socket_path())
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    receiver, sender = os.pipe()
    config = json.dumps({**dataclasses.asdict(settings), "socket": str(path)})
    folders = json.dumps([] if python else [each for each in sys.path if each])
    log = Path(f"{path}.log")
    try:
        with log.open("wb") as output:
            process = subprocess.Popen(
                [str(python or sys.executable), "-c", _BOOTSTRAP, config, str(sender), folders],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, pass_fds=(sender,), start_new_session=True,
                cwd="/",
            )  # fmt: skip
    finally:
        os.close(sender)
    threading.Thread(target=process.wait, name="tricodec-node-end", daemon=True).start()  # leaves no zombie
    with os.fdopen(receiver, "rb") as answer:
        text = answer.read().decode()
    if text == "runs":
        raise RunsAlreadyError(f"a node runs already at the socket '{path}'")
    if text != "ready":
        raise RuntimeError(f"the node did not start: {text or log.read_text(errors='replace')[-2000:]}")
    return str(path)


_BOOTSTRAP = """
import json, sys
sys.path[:] = json.loads(sys.argv.pop(3)) or sys.path
from tricodec.node._server import main
main()
"""


def parse_bytes(text: str) -> int:
    """Bytes of "8GiB", "512M" or "1000". An argparse type."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([kmgt]?)(?:i?b)?", text.strip().lower())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size of memory; write one such as 8GiB or 512MiB")
    return int(float(found[1]) * _UNITS[found[2]])


def lock_file(path: Path) -> Path:
    """The file that a node locks, with its settings, which it leaves to the next one if it is killed."""
    return Path(f"{path}.lock")


def settings_again(path: str, idle_s: float) -> Settings:
    """The settings of the node that was killed at a socket; or those of one that ends when it was idle for so long."""
    try:
        return settings_of(json.loads(lock_file(Path(path)).read_text()))
    except (OSError, ValueError, TypeError):
        return Settings(socket=path, idle_s=idle_s)


def settings_of(fields: dict[str, Any]) -> Settings:
    """Settings that passed between processes as JSON."""
    gpus = fields.get("gpus")
    return Settings(**{**fields, "gpus": None if gpus is None else tuple(gpus)})


def usable_gpus() -> list[int]:
    """Numbers of the GPUs that the driver may have; the node tries them."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    count = len(list(Path("/dev").glob("nvidia[0-9]*")))
    if visible is not None:
        count = min(count, len([each for each in visible.split(",") if each.strip() not in ("", "-1")]))
    return list(range(count))
