# SPDX-License-Identifier: Apache-2.0
"""Open videos in a process that decodes, and the frames of groups of pictures that several requests need."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tricodec._tricodec import Frame, FrameReader, Transform, picture_bytes
from tricodec.errors import Error, RefusedError
from tricodec.node._source import ReceivedSource

_MOST_IDLE = 32
_MOST_DAMAGED = 1024


class OpenVideo:
    """A reader, what it reads, and on a GPU the stream of its work. One thread at a time uses it."""

    def __init__(self, key: Any, source: ReceivedSource, stream: Any, options: dict[str, Any]) -> None:
        """Args: options are those of FrameReader. Takes over the source if there is no error."""
        self.key, self.source, self.stream = key, source, stream
        self.idle_bytes = 0
        self._options = options
        self.reader = FrameReader(source.open(), **options)
        self._decoder_bytes: int | None = None

    @property
    def decoder_bytes(self) -> int:
        """What one of its decoders takes of the GPU."""
        if self._decoder_bytes is None:
            self._decoder_bytes = self.reader._memory_required(None, start=0, count=min(1, len(self.reader)))[2]
        return self._decoder_bytes

    def use_decoders(self, most: int) -> None:
        """Has the reader use so many decoders at a time."""
        if self._options["num_workers"] != most:
            self._options["num_workers"] = most
            self.reopen()

    def keep_decoders(self, most: int) -> None:
        """Frees the decoders but so many, from which the next request may continue."""
        self.reader._close_idle_decoders(most)
        self.idle_bytes = most * self.decoder_bytes

    def reopen(self) -> None:
        """Opens the source again: the reader has met no damage then."""
        self.reader.close()
        self.reader = FrameReader(self.source.open(), **self._options)

    def close(self) -> None:
        """Closes the reader and the file."""
        self.reader.close()
        self.source.close()


class Readers:
    """Readers that are open, and idle, by what they read. Thread safety: safe."""

    def __init__(self, device: str, most_bytes: int) -> None:
        """Args: device is "cpu" or "cuda:N"; most_bytes are those of a GPU's decoders that wait for a request."""
        self._device, self._most_bytes = device, most_bytes
        self._lock = threading.Lock()
        self._idle: OrderedDict[int, OpenVideo] = OrderedDict()

    @contextlib.contextmanager
    def use(self, source: ReceivedSource, request: dict[str, Any], num_threads: int) -> Iterator[OpenVideo]:
        """A reader for one request, opened before or now. It takes over the source.

        Raises:
            Error: the errors of `FrameReader`.
        """
        options = {"stream_index": request["stream_index"], "ignore_edit_list": request["ignore_edit_list"]}
        key = (source.key, *options.values(), request["device"].startswith("auto"))
        with self._lock:
            number = next((id_ for id_, each in reversed(self._idle.items()) if each.key == key), None)
            video = None if number is None else self._idle.pop(number)
        if video is None:
            video = self._open(key, source, options, request["device"], num_threads)
        else:
            source.close()
        try:
            yield video
        except BaseException:
            video.close()  # what an error leaves behind is not for another request
            raise
        if video.reader.num_damaged_packets:
            video.close()  # the next request counts the damage that it meets itself
            return
        if self._device != "cpu" and video.reader.device != "cpu":
            video.keep_decoders(1)
        with self._lock:
            self._idle[id(video)] = video
            closed = self._idle.popitem(last=False)[1] if len(self._idle) > _MOST_IDLE else None
            num_bytes = sum(each.idle_bytes for each in self._idle.values())
            for each in filter(lambda each: each.idle_bytes, self._idle.values()):
                if num_bytes <= self._most_bytes:
                    break
                num_bytes -= each.idle_bytes
                each.keep_decoders(0)
        if closed is not None:
            closed.close()

    def _open(
        self, key: Any, source: ReceivedSource, options: dict[str, Any], asked: str, num_threads: int
    ) -> OpenVideo:
        stream = None
        if self._device != "cpu":
            from tricodec.node import _device_memory

            number = int(self._device.partition(":")[2])
            stream = _device_memory.Stream(number)
            options = {**options, "stream": stream.handle}
            num_threads = 0
        try:
            device = self._device.replace("cuda", "auto") if asked.startswith("auto") else self._device
            return OpenVideo(key, source, stream, {**options, "device": device, "num_workers": num_threads})
        except BaseException:
            source.close()
            raise


class Decoders:
    """The memory of a GPU for the decoders at work. Requests get it in their order. Thread safety: safe."""

    _MOST = 14
    """Decoders of a request at a time: two for each engine of the GPUs that have the most."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes, self._used = most_bytes, 0
        self._changed = threading.Condition()
        self._line: deque[object] = deque()

    @contextlib.contextmanager
    def room(self, video: OpenVideo, numbers: npt.NDArray[np.int64]) -> Iterator[None]:
        """Waits for the memory of a request for these frames.

        Raises:
            RefusedError: there is less than one decoder needs.
        """
        each = max(1, video.decoder_bytes)
        if each > self._most_bytes:
            raise RefusedError(
                f"a decoder for this video takes {each} bytes of the GPU, and this node has {self._most_bytes} for "
                "decoders; start the node with more gpu_memory, or ask for the device 'cpu'"
            )
        most = max(1, min(self._MOST, self._most_bytes // each // 2))  # two requests keep the engines at work
        num_groups = max(1, len(np.unique(np.searchsorted(video.reader._gops()[:, 0], numbers, "right"))))
        if most < min(self._MOST, num_groups):
            video.use_decoders(most)
        need, turn = each * min(most, num_groups), object()
        with self._changed:
            self._line.append(turn)
            self._changed.wait_for(lambda: self._line[0] is turn and self._used + need <= self._most_bytes)
            self._line.popleft()
            self._used += need
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._used -= need
                self._changed.notify_all()


@dataclasses.dataclass(eq=False)
class _Group:
    """The first frames of a group of pictures: as many as a request needed, of which the bytes are counted before."""

    frames: list[Frame]
    num_bytes: int
    filling: threading.Lock


class Groups:
    """Frames of groups of pictures that a second request needs: they are decoded once, and transformed for each.

    Thread safety: safe.
    """

    def __init__(self, most_bytes: int) -> None:
        """Args: most_bytes are those of all frames."""
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._groups: OrderedDict[Any, _Group] = OrderedDict()
        self._num_bytes = 0
        self._seen: OrderedDict[Any, int] = OrderedDict()  # bytes of what was asked for last, kept or not
        self._seen_bytes = 0
        self._damaged: OrderedDict[Any, None] = OrderedDict()

    @property
    def num_bytes(self) -> int:
        """Bytes of the frames that are kept."""
        return self._num_bytes

    def frames(self, video: OpenVideo, numbers: npt.NDArray[np.int64]) -> tuple[list[Frame], int] | None:
        """Frames by their numbers, and how many of them were decoded before; None if the caller must read them.

        A group is kept from the second request on that needs it, if all that the request needs fits, and if less than
        fits was asked for since the first one: a program that reads more again and again would find nothing.
        """
        reader = video.reader
        form = reader.stream.pixel_format
        if not len(numbers) or form is None or reader.num_damaged_packets or reader.stream.interlaced:
            return None
        firsts = np.unique(reader._gops()[:, 0])
        groups = np.searchsorted(firsts, numbers, "right") - 1
        ends = {int(group): int(numbers[groups == group].max()) + 1 - int(firsts[group]) for group in np.unique(groups)}
        frame_bytes = picture_bytes(form, reader.width, reader.height)
        sizes = {(video.key, group): count * frame_bytes for group, count in ends.items()}
        if min(ends) < 0 or sum(sizes.values()) > self._most_bytes or not self._are_wanted(video.key, sizes):
            return None
        found: dict[int, list[Frame]] = {}
        before = 0
        for group, count in ends.items():
            entry = self._entry((video.key, group))
            with entry.filling:
                before += int(((groups == group) & (numbers - firsts[group] < len(entry.frames))).sum())
                if len(entry.frames) < count:
                    first = int(firsts[group])
                    if not self._reserve((video.key, group), entry, count * frame_bytes):
                        return None
                    try:
                        frames = entry.frames + reader.frames(range(first + len(entry.frames), first + count))
                    except (Error, IndexError):
                        if not reader.num_damaged_packets:
                            raise
                    if reader.num_damaged_packets:
                        self._reserve((video.key, group), entry, 0)
                        self.leave_out(video.key)
                        video.reopen()
                        return None
                    entry.frames = frames
                    self._reserve((video.key, group), entry, sum(frame.size_bytes for frame in frames))
                found[group] = entry.frames
        return [found[group][number - firsts[group]] for group, number in zip(groups, numbers, strict=True)], before

    def leave_out(self, key: Any) -> None:
        """Keeps nothing of a damaged video: each request decodes it as the process would, and counts the damage."""
        with self._lock:
            self._damaged[key] = None
            if len(self._damaged) > _MOST_DAMAGED:
                self._damaged.popitem(last=False)

    def _are_wanted(self, video: Any, sizes: dict[Any, int]) -> bool:
        """Whether another request needed one of the groups lately; `sizes` has their bytes by their keys."""
        with self._lock:
            if video in self._damaged:
                return False
            seen = any(key in self._seen for key in sizes)
            for key, size in sizes.items():
                self._seen_bytes += size - self._seen.pop(key, 0)
                self._seen[key] = size
            while self._seen_bytes > self._most_bytes:
                self._seen_bytes -= self._seen.popitem(last=False)[1]
        return seen

    def _entry(self, key: Any) -> _Group:
        with self._lock:
            entry = self._groups.setdefault(key, _Group([], 0, threading.Lock()))
            self._groups.move_to_end(key)
            return entry

    def _reserve(self, key: Any, entry: _Group, num_bytes: int) -> bool:
        """Makes room for a group: drops those used longest ago, and none that is filled now. Returns False without."""
        with self._lock:
            if self._groups.setdefault(key, entry) is not entry:
                return False
            idle = [each for each, group in self._groups.items() if group is not entry and not group.filling.locked()]
            while self._num_bytes + num_bytes - entry.num_bytes > self._most_bytes and idle:
                dropped = self._groups.pop(idle.pop(0))
                self._num_bytes -= dropped.num_bytes
                dropped.num_bytes = 0
            if self._num_bytes + num_bytes - entry.num_bytes > self._most_bytes:
                return False
            self._num_bytes += num_bytes - entry.num_bytes
            entry.num_bytes = num_bytes
        return True


def transformed(frames: list[Frame], transform: Transform, out: Any, stream: Any) -> None:
    """Writes frames to memory as `FrameReader.batch` does."""
    transform(frames, out, **({} if stream is None else {"stream": stream.handle}))
