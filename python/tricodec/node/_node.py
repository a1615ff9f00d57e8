# SPDX-License-Identifier: Apache-2.0
"""Node and NodeReader: what a process asks of the node of its machine."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tricodec._tricodec import select_frames
from tricodec.node._arrays import array_of
from tricodec.node._asked import Asked
from tricodec.node._client import Answer, Connection, connection_to
from tricodec.node._source import SentSource, plain
from tricodec.node._start import NodeLostError, RunsAlreadyError, checked_path, settings_again, socket_path, start
from tricodec.node.tasks import described
from tricodec.options import checked_selection, request_of, selection_of
from tricodec.video import DecodedVideo, _decode
from tricodec.video._pickling import make

_OF_REQUEST = ("device", "stream_index", "ignore_edit_list", "priority", "output_device")
_IDLE_SECONDS = 60.0
_START_SECONDS = 60.0
_STOP_SECONDS = 10.0
_ANSWER_SECONDS = 20.0
"""A node answers at once what needs no worker; one that does not hangs, or is stopped."""
_LOOK_SECONDS = 0.05
_MOST_NODES = 3
"""So many nodes in sequence may end while they have a request."""
_CHUNK = 16


class Node:
    """A node of this machine, which decodes for all processes of a user; made by `connect()`.

        node = tricodec.node.connect()
        video = node.decode_video("a.mp4", fps=2, size=(224, 224))

    Can be pickled, and works in a forked child: each process has a connection of its own.

    Thread safety: safe.
    """

    def __init__(self, path: str, *, starts: bool = False) -> None:
        """Connects.

        Args:
            path: of the node's socket.
            starts: a node that is gone is started again by the next request, and by one that it had.

        Raises:
            NodeLostError: no node listens there, and `starts` is False.
        """
        self.path = path
        self._starts = starts
        self._connection()

    def decode_video(
        self,
        source: Any,
        *,
        device: Any = "auto",
        stream_index: int = -1,
        ignore_edit_list: bool = False,
        priority: int = 0,
        output_device: str = "auto",
        **options: Any,
    ) -> DecodedVideo[Any]:
        """Decode frames of a video into one array, as `tricodec.decode_video` does, in the node.

        Args:
            source: as in `tricodec.probe`. The node gets the open file, never its name; bytes are copied once.
            device: "auto", "cpu", "cuda" or "cuda:N", a GPU of the node. "auto" is a GPU of the node if it decodes the
                video exactly and has memory for it now, else the CPU.
            stream_index, ignore_edit_list: as in `tricodec.decode_video`.
            priority: requests of smaller numbers come first.
            output_device: where the frames are: "auto" is where they were decoded; "cpu" is memory of the host, so that
                this process needs no CUDA context.
            **options: as in `tricodec.decode_video`.

        Returns:
            The frames and their times: a `NodeArray`, which is a NumPy array, or on a GPU a `NodeDeviceArray`. Their
            memory is the node's until they and all views of them are gone.

        Raises:
            NodeLostError: the node ended before it answered, and is not started again; ask again.
            RefusedError: the result has more bytes than the node gives a client.
            TimeoutError: it took longer than the node allows, or waited too long for memory.
            Exception: the errors of `tricodec.decode_video`.
        """
        options = _checked("decode_video", options, _OF_REQUEST)
        with SentSource(source) as sent:
            request = self._request("decode", sent, device, stream_index, ignore_edit_list, output_device)
            return self._decoded(sent, {**request, "priority": int(priority), "options": options})

    def open(
        self,
        source: Any,
        *,
        device: Any = "auto",
        stream_index: int = -1,
        ignore_edit_list: bool = False,
        output_device: str = "auto",
    ) -> NodeReader:
        """Open a video to read batches of its frames.

        Args:
            source, device, stream_index, ignore_edit_list, output_device: as in `decode_video`.

        Raises:
            Exception: the errors of `tricodec.FrameReader`, and those of `decode_video`.
        """
        return NodeReader(self, SentSource(source), device, stream_index, ignore_edit_list, output_device)

    def submit(
        self,
        task: Any,
        settings: Any,
        source: Any,
        *,
        device: str = "auto",
        threads: int = 0,
        limits: Mapping[str, int] | None = None,
        pin: str = "",
        timeout_s: float = 0,
    ) -> Asked:
        """Have a process of the node do a task, and wait for nothing.

        Args:
            task: a `tricodec.node.tasks.Task`.
            settings: a dataclass that the task is opened with.
            source: as in `decode_video`.
            device: where it is done.
            threads: its share; 0 is the node's choice.
            limits: of `tricodec.set_limits` while the CPU does it.
            pin: tasks with the same one are done by the same process, until `forget`.
            timeout_s: seconds for each part of its outcome; 0 is the node's own limit.

        Raises:
            NodeLostError: no node answers.
        """
        with SentSource(source) as sent:
            message = {
                "do": "task", "source": sent.described, "what": described(task), "settings": described(settings),
                "device": device, "threads": threads, "limits": dict(limits or {}), "pin": pin, "timeout_s": timeout_s,
            }  # fmt: skip
            return Asked(self._connection(), message, sent.file)

    def forget(self, pin: str) -> None:
        """Free what the tasks of a pin have left; if the node is gone, it is free already."""
        with contextlib.suppress(NodeLostError):
            connection_to(self.path).tell({"do": "forget", "pin": pin})

    def status(self) -> dict[str, Any]:
        """The node's version, process, clients, memory of each device, and counts of requests and shared frames."""
        connection = self._connection()
        connection.settle()
        status = connection.ask({"do": "status"}, seconds=_ANSWER_SECONDS)[0]
        return {name: value for name, value in status.items() if name != "number"}

    def stop(self) -> None:
        """End the node, if one runs, and wait until another one can have its socket. Requests are lost; arrays stay."""
        with contextlib.suppress(NodeLostError):  # another process ends it just now
            connection = connection_to(self.path)
            connection.ask({"do": "stop"}, seconds=_ANSWER_SECONDS)
            connection.wait_for_end(_STOP_SECONDS)

    def close(self) -> None:
        """End the connection of this process. Its arrays stay valid, and do not count as the node's memory any more."""
        with contextlib.suppress(NodeLostError):
            connection_to(self.path).close()

    def _connection(self) -> Connection:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                return connection_to(self.path)
            except NodeLostError:
                if not self._starts or time.monotonic() > deadline:
                    raise
            if not start_once(self.path):
                time.sleep(_LOOK_SECONDS)  # another process starts it just now, or it is about to end

    @staticmethod
    def _request(
        what: str, sent: SentSource, device: Any, stream_index: int, ignore_edit_list: bool, output_device: str
    ) -> dict[str, Any]:
        device = str(device)
        if device == "auto":
            device = os.environ.get("TRICODEC_DEVICE", "auto")
        if output_device not in ("auto", "cpu"):
            raise ValueError(f"output_device is {output_device!r}; expected 'auto' or 'cpu'")
        return {
            "do": what, "source": sent.described, "device": device, "stream_index": int(stream_index),
            "ignore_edit_list": bool(ignore_edit_list), "on_host": output_device == "cpu",
        }  # fmt: skip

    def _ask(self, message: dict[str, Any], files: Sequence[int]) -> Answer:
        for _ in range(_MOST_NODES - 1 if self._starts else 0):
            with contextlib.suppress(NodeLostError):  # a request has no effect, so the next node can have it, too
                return self._connection().ask(message, files)
            time.sleep(_LOOK_SECONDS)  # what is about to end still takes connections
        return self._connection().ask(message, files)

    def _decoded(self, sent: SentSource, message: dict[str, Any]) -> DecodedVideo[Any]:
        answer, lease = self._ask(message, [sent.file])
        frames = array_of(lease)
        pts, asked = (np.array(answer[name], np.float64) for name in ("pts", "asked"))
        indices = np.array(answer["indices"], np.int64)
        return DecodedVideo(frames, pts, answer["damaged"], indices, asked, answer["hits"])

    def __reduce__(self) -> tuple[Any, ...]:
        return make, (Node, (self.path,), {"starts": self._starts})

    def __repr__(self) -> str:
        return f"<tricodec.node.Node {self.path}>"


def _checked(call: str, options: dict[str, Any], others: Sequence[str]) -> dict[str, Any]:
    """Options of a call as JSON has them."""
    transform = request_of(call, options, others)[1]
    if "dtype" in options:  # a type of NumPy may be given
        options["dtype"] = transform.options["dtype"]
    return {name: plain(value) for name, value in options.items()}


class NodeReader:
    """A video that a node decodes, by numbers of its frames; made by `Node.open`.

        with tricodec.node.connect().open("a.mp4") as reader:
            print(len(reader), reader.fps)
            batch = reader.batch([0, 30, 60], size=(224, 224))

    A context manager. Thread safety: safe.
    """

    def __init__(self, node: Node, sent: SentSource, *how: Any) -> None:
        """Asks the node for what is known of the video; takes over `sent`."""
        self._node, self._sent, self._how = node, sent, how
        try:
            request = node._request("facts", sent, *how)
            facts = node._ask(request, [sent.file])[0]["facts"]
        except BaseException:
            sent.close()
            raise
        self.num_frames: int = facts["num_frames"]
        self.fps: float = facts["fps"]
        self.duration: float = facts["duration"]
        self.width: int = facts["width"]
        self.height: int = facts["height"]
        self.shape: tuple[int, ...] = tuple(facts["shape"])
        self.pts_seconds = np.array(facts["pts_seconds"], np.float64)
        self.key_frames: list[int] = facts["key_frames"]
        self.device: str = facts["device"]
        self._end: float = facts["end_seconds"]

    def decode(self, *, priority: int = 0, **options: Any) -> DecodedVideo[Any]:
        """Decode frames into one array.

        Args:
            priority, **options: as in `Node.decode_video`.

        Raises:
            ValueError: the reader is closed.
            Exception: the errors of `Node.decode_video`.
        """
        options = _checked("decode", options, ("priority",))
        if self._sent.file < 0:
            raise ValueError("this NodeReader is closed; open another one")
        request = self._node._request("decode", self._sent, *self._how)
        return self._node._decoded(self._sent, {**request, "priority": int(priority), "options": options})

    def batch(self, indices: Sequence[int] | None = None, **options: Any) -> Any:
        """Frames by their numbers, [N, H, W, C] or as the layout says; all frames without `indices`.

        Raises:
            Exception: the errors of `Node.decode_video`.
        """
        chosen: dict[str, Any] = {} if indices is None else {"indices": indices}
        return self.decode(**chosen, **options).frames

    def select(self, **options: Any) -> list[int]:
        """Numbers of the frames that options of `tricodec.decode_video` select, as `FrameReader.select`."""
        numbers, _ = select_frames(
            self.pts_seconds.tolist(), self._end, key_frames=self.key_frames, **checked_selection("select", options)
        )
        found: list[int] = numbers.tolist()
        return found

    def batches(self, batch_size: int = _CHUNK, *, start: int = 0, count: int = -1, **options: Any) -> Iterator[Any]:
        """Batches of `count` consecutive frames from number `start`, or of all; the last batch may be shorter.

        Raises:
            ValueError: `batch_size` is below 1.
            Exception: the errors of `Node.decode_video`.
        """
        if batch_size < 1:
            raise ValueError(f"batch_size is {batch_size}; expected 1 or more")
        end = self.num_frames if count < 0 else min(self.num_frames, start + count)
        for first in range(start, end, batch_size):
            numbers = range(first, min(first + batch_size, end))
            yield self.decode(**selection_of(numbers), **options).frames

    def __len__(self) -> int:
        return self.num_frames

    def __getitem__(self, index: int) -> Any:
        """One frame as an array, uint8 RGB [H, W, 3]."""
        number = index + self.num_frames if index < 0 else index
        if not 0 <= number < self.num_frames:
            raise IndexError(f"frame {index} was asked for; the video has {self.num_frames}")
        return self.batch([number])[0]

    def __iter__(self) -> Iterator[Any]:
        for batch in self.batches():
            yield from (batch[place] for place in range(len(batch)))

    def close(self) -> None:
        """Close the file. Arrays stay valid."""
        self._sent.close()

    def __del__(self) -> None:
        self.close()

    def __enter__(self) -> NodeReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def start_once(path: str) -> bool:
    """Starts a node again, or one that ends when it is idle; returns False if another one has the socket."""
    try:
        start(settings_again(path, _IDLE_SECONDS))
    except RunsAlreadyError:
        return False
    return True


def connect(path: str | None = None, *, start: bool = False) -> Node:
    """Connect to the node of this machine.

    Args:
        path: of its socket; None is the user's own: that of TRICODEC_NODE, else in XDG_RUNTIME_DIR or the folder for
            temporary files.
        start: start a node if none runs. It ends when it had no client for a minute.

    Raises:
        NodeLostError: no node runs, and `start` is False.
        RuntimeError: it does not start.
    """
    return Node(str(checked_path(path or socket_path())), starts=start)


def use(node: Node | None) -> None:
    """Have `tricodec.decode_video` and `tricodec.read_many` of this process ask a node, or no longer.

    Calls that name ``out``, ``context``, ``stream`` or ``pinned`` or pass an open reader still decode in the process.

    Args:
        node: from `connect`; None ends it.
    """
    _decode.elsewhere = None if node is None else node.decode_video


def use_of_environment() -> None:
    """What the environment variable TRICODEC_NODE asks for: "auto" starts a node when one is needed; or a socket."""
    named = os.environ["TRICODEC_NODE"]
    _decode.elsewhere = lambda source, **options: connect(start=named == "auto").decode_video(source, **options)


def active() -> Node | None:
    """The node that `tricodec.decode_video` asks, or None."""
    if _decode.elsewhere is None:
        return None
    owner = getattr(_decode.elsewhere, "__self__", None)
    return owner if isinstance(owner, Node) else connect(start=os.environ.get("TRICODEC_NODE") == "auto")
