# SPDX-License-Identifier: Apache-2.0
"""VideoSession: a video or a live stream that stays open on a server."""

from __future__ import annotations

import contextlib
import dataclasses
import secrets
import threading
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from tricodec._tricodec import Packet
from tricodec.options import checked_selection
from tricodec.triton.client._connection import BusyError, Connection, input_tensor
from tricodec.triton.client._requests import option_tensors, video_of
from tricodec.video import DecodedVideo

_OUTPUTS = ("PTS", "NUM_DAMAGED_PACKETS", "FRAME_NUMBERS", "NUM_FRAMES", "LAST")
_NO_PTS = int(np.iinfo(np.int64).min)
_DEFAULT_TIME_BASE = (1, 1_000_000)
_OTHER_PLACE = {"start", "start_s", "end_s", "count"}  # options that leave the stride as it was

_END_SECONDS = 5.0
"""That a client waits for the end of a session on the server."""


@dataclasses.dataclass(frozen=True)
class Opening:
    """What opens a session, once or again."""

    model: str
    tensors: Sequence[Any]
    choice: Mapping[str, Any]  # of frames, where it differs from the defaults
    chunk: int
    output: str  # with the frames
    is_live: bool  # the session takes packets


class VideoSession(contextlib.AbstractContextManager["VideoSession"]):
    """A video or a live stream that stays open on the server; an iterator of chunks, and a context manager.

    `Client.open` makes it. The frames of a video are those of `tricodec.FrameReader`, byte for byte. Leaving the
    context ends the session on the server at once. A session without requests ends after the model's `max_idle_ms`.

    Thread safety: safe; calls from several threads take turns.
    """

    def __init__(self, connection: Connection, opening: Opening) -> None:
        """Open the session. Use `Client.open`."""
        self._connection = connection
        self._opening = opening
        self._choice = dict(opening.choice)
        self._is_sought = False  # the choice is not that of the opening
        self._lock = threading.RLock()
        self._id = 0  # its correlation id; 0 while the server does not have it
        self._is_closed = False
        self._was_open = False
        self._num_given = 0  # frames of the choice that the caller has
        self._is_known = False  # the server continues after them by itself
        self._is_last = False
        self._num_frames: int | None = None
        self._numbers: npt.NDArray[np.int64] = np.empty(0, np.int64)
        self._request(0)

    def __len__(self) -> int:
        """Number of frames of the video.

        Raises:
            TypeError: a live stream has no length.
        """
        if self._num_frames is None:
            raise TypeError("a live stream has no length")
        return self._num_frames

    @property
    def frame_numbers(self) -> npt.NDArray[np.int64]:
        """Numbers of the frames of the last chunk in their video, or in the order of a live stream, int64 [F]."""
        return self._numbers

    @property
    def is_last(self) -> bool:
        """Whether no more frames come."""
        return self._is_last

    def read(self, chunk: int | None = None) -> DecodedVideo:
        """Get the next frames.

        Args:
            chunk: the most frames; None is the number that `Client.open` was given.

        Returns:
            The frames, their times, and the number of packets found damaged so far. There are fewer frames, perhaps
            none, at the end of the video, or if a live stream has no more that can be decoded.

        Raises:
            ValueError, IndexError, tricodec.Error, TimeoutError: as `Client.decode_video`.
            ConnectionError: the session is gone: it had no request for too long, or its process or the server has
                died. With `retries` the client opens a video again and continues with the next frame.
        """
        return self._request(chunk)

    def seek(self, start: int | None = None, **options: Any) -> None:
        """Continue with other frames. The next request takes the choice to the server, and raises its errors.

        Args:
            start: number of the next frame, as in `tricodec.decode_video`.
            **options: the other options of `tricodec.decode_video` that select frames: stride, count, times, fps, ...
                A choice without options is all frames. Only the stride stays as it is, if the options are start,
                start_s, end_s or count.

        Raises:
            ValueError: nothing is given, options contradict each other, or the session is a live stream.
            TypeError: an option is not one of these.
        """
        if self._opening.is_live:
            raise ValueError("a live stream has no frames to choose; open a video to seek")
        choice = checked_selection("seek", {"start": start, **options})
        if not choice:
            raise ValueError("give start, the number of a frame, or another option that selects frames, like start_s")
        with self._lock:
            if choice.keys() <= _OTHER_PLACE and "stride" in self._choice:  # else it is the server's
                choice["stride"] = self._choice["stride"]
            self._choice, self._is_sought = choice, True
            self._num_given, self._is_known, self._is_last = 0, False, False

    def push(
        self,
        packets: Any,
        pts: Sequence[int | None] | None = None,
        *,
        time_base: Any = None,
        chunk: int | None = None,
    ) -> DecodedVideo:
        """Send packets of a live stream, and get the frames that can be decoded.

        Args:
            packets: a `tricodec.Packet`, bytes-like, or a sequence of them: access units with their own headers, as
                ``tricodec.Demuxer(source, annexb=True)`` gives them.
            pts: time of each packet in units of `time_base`; None takes those of `tricodec.Packet`.
            time_base: seconds for a unit, a Fraction or (numerator, denominator); None takes that of the packets, or
                microseconds.
            chunk: the most frames of the answer. The others wait: get them by `read`, or by iterating.

        Returns:
            As `read`; often without frames. A time is NaN if the packet has none.

        Raises:
            ValueError: the session has a video, or the packets have different time bases.
            tricodec.RefusedError: too many bytes of packets wait (the model's `max_input_bytes`); read frames first.
            TimeoutError, ConnectionError: as `read`. The packets may have been taken: open another stream, and begin
                with a key frame.
        """
        if not self._opening.is_live:
            raise ValueError("this session has a video; open one with codec= to push packets")
        is_single = isinstance(packets, (Packet, bytes, bytearray, memoryview))
        sent = [packets] if is_single else list(packets)
        return self._request(chunk, _packet_tensors(sent, pts, time_base) if sent else ())

    def flush(self, chunk: int | None = None) -> DecodedVideo:
        """End a live stream: no more packets come. The frames after those returned come by `read`, or by iterating.

        Args:
            chunk: as in `read`.

        Raises:
            ValueError: the session has a video.
        """
        if not self._opening.is_live:
            raise ValueError("this session has a video, which ends by itself")
        return self._request(chunk, option_tensors("read", {"flush": True}))

    def close(self) -> None:
        """End the session on the server. Its frames stay valid."""
        with self._lock:
            self._is_closed = True
            self._end_sequence()

    def __iter__(self) -> VideoSession:
        """Return the session itself."""
        return self

    def __next__(self) -> DecodedVideo:
        """Return the next chunk. It ends with the video, or if a live stream has no frame that can be decoded now."""
        with self._lock:
            chunk = None if self._is_last else self.read()
        if chunk is None or not len(chunk):
            raise StopIteration
        return chunk

    def __exit__(self, *_: object) -> None:
        """Close the session."""
        self.close()

    def _request(self, chunk: int | None, others: Sequence[Any] = ()) -> DecodedVideo:
        chunk = self._opening.chunk if chunk is None else chunk
        with self._lock:
            if self._is_closed:
                raise ValueError("the session is closed")
            if self._opening.is_live and self._was_open:
                result = self._send(chunk, others)
            else:
                result = self._connection.repeated(self._opening.model, lambda: self._send(chunk, others))
            video = video_of(result, self._opening.output)
            self._num_given += len(video)
            self._is_known = True
            self._is_last = bool(result.as_numpy("LAST")[0])
            self._numbers = result.as_numpy("FRAME_NUMBERS")
            num_frames = int(result.as_numpy("NUM_FRAMES")[0])
            self._num_frames = None if num_frames < 0 else num_frames
            return video

    def _send(self, chunk: int, others: Sequence[Any]) -> Any:
        """One request. It opens the session if there is none, and has the choice if the server may not know it."""
        if self._id == 0 and self._is_sought:
            # The choice continues the first one: a stride, perhaps a plan's, may stay.
            self._ask(0, [*self._opening.tensors, *option_tensors("seek", self._opening.choice)], opens=True)
        opens = self._id == 0
        tensors = [*others, *(self._opening.tensors if opens else ())]
        if not self._is_known and not self._opening.is_live:
            skip = None if opens and not self._num_given else self._num_given
            tensors += option_tensors("seek", {**self._choice, "skip": skip})
        self._is_known = False
        return self._ask(chunk, tensors, opens=opens)

    def _ask(self, chunk: int, tensors: Sequence[Any], *, opens: bool) -> Any:
        """A request of a sequence. The sequence ends if it does not open, or if the server has lost it."""
        if opens:
            if self._opening.is_live and self._was_open:
                raise ConnectionError("the live stream is lost; open another one, and begin with a key frame")
            self._id = secrets.randbits(63) or 1
        pull = option_tensors("read", {"chunk": chunk})
        try:
            answer = self._connection.call(
                self._opening.model, [*pull, *tensors], [self._opening.output, *_OUTPUTS], sequence_id=self._id,
                sequence_start=opens,
            )  # fmt: skip
        except Exception as error:
            is_lost = isinstance(error, ConnectionError) and not isinstance(error, BusyError)
            if opens or is_lost:
                self._end_sequence()
            raise
        self._was_open = True
        return answer

    def _end_sequence(self) -> None:
        """Ends the session on the server, and the sequence that Triton sees. A server may be gone, or not answer."""
        if self._id:
            ended, self._id = self._id, 0
            tensors = option_tensors("read", {"chunk": 0})
            with contextlib.suppress(Exception):
                self._connection.call(
                    self._opening.model, tensors, ["LAST"], _END_SECONDS, sequence_id=ended, sequence_end=True
                )


def _packet_tensors(packets: Sequence[Any], pts: Sequence[int | None] | None, time_base: Any) -> list[Any]:
    """The tensors of packets."""
    times = [getattr(packet, "pts", None) for packet in packets] if pts is None else list(pts)
    if len(times) != len(packets):
        raise ValueError(f"pts has {len(times)} times for {len(packets)} packets; give one for each, or None for it")
    if time_base is None:
        found = {base for packet in packets if (base := getattr(packet, "time_base", None)) is not None}
        if len(found) > 1:
            raise ValueError(f"the packets have different time bases, {', '.join(map(str, sorted(found)))}; push each "
                             "stream into a session of its own")  # fmt: skip
        time_base = found.pop() if found else _DEFAULT_TIME_BASE
    unit = Fraction(*time_base) if isinstance(time_base, tuple) else Fraction(time_base)
    data = np.empty(len(packets), np.object_)
    data[:] = [bytes(memoryview(packet)) for packet in packets]
    stamps = np.array([_NO_PTS if time is None else time for time in times], np.int64)
    base = np.array([unit.numerator, unit.denominator], np.int64)
    named = (("PACKETS", data, "BYTES"), ("PACKET_PTS", stamps, "INT64"), ("TIME_BASE", base, "INT64"))
    return [input_tensor(*each) for each in named]
