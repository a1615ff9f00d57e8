# SPDX-License-Identifier: Apache-2.0
"""CreateEncoder and PyNvEncoder: from frames to packets.

``tricodec.encode`` has the table of the effect of each parameter on each engine.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import tricodec
from tricodec import encode
from tricodec.encode.settings import integer

from ._bitstream import EncodedBitstream, insert_before_picture, ivf_frame, ivf_header, sei_unit
from ._calls import PyNvVCExceptionUnsupported, logger, make_lock, note_2, translated_errors
from ._demuxer import demuxer_of
from ._encoder_input import LEGACY_STREAM, input_format, picture_of, raw_file
from ._encoder_options import (
    RateChange,
    ReceiverBuffer,
    format_optional_params,
    note_options,
    plan_of,
    read_settings,
    structEncodeReconfigureParams,
)
from ._enums import NV_ENC_MULTI_PASS, NV_ENC_PARAMS_RC_MODE, NV_ENC_PIC_FLAGS, NV_ENC_PIC_TYPE

Sei = Sequence[tuple[Mapping[str, int], Sequence[int]]]

_MOST_QUALITY = 63  # as the parameter cq

_RC_MODES = {
    "constqp": NV_ENC_PARAMS_RC_MODE.CONSTQP,
    "vbr": NV_ENC_PARAMS_RC_MODE.VBR,
    "cbr": NV_ENC_PARAMS_RC_MODE.CBR,
}
_MULTI_PASS = {
    "disabled": NV_ENC_MULTI_PASS.DISABLED,
    "qres": NV_ENC_MULTI_PASS.QUARTER_RESOLUTION,
    "fullres": NV_ENC_MULTI_PASS.FULL_RESOLUTION,
}


class NV_ENC_PIC_PARAMS:
    """Parameters of one picture, for ``Encode(frame, picParams=...)``.

    Attributes:
        encodePicFlags: flags of NV_ENC_PIC_FLAGS.
        inputTimeStamp: the ``timestamp`` of the picture's packet; 0 is the number of the picture.
        pictureStruct: 1, a whole frame; encoders here do not take fields.
        pictureType: 2 (I) and 3 (IDR) make a key frame; the encoder chooses the type for all others.
        frameIdx, inputDuration, inputWidth, inputHeight, inputPitch: accepted without effect.
    """

    def __init__(self) -> None:
        """All fields 0, but a whole frame."""
        note_2()
        self.encodePicFlags = 0
        self.inputTimeStamp = 0
        self.frameIdx = 0
        self.inputDuration = 0
        self.inputWidth = 0
        self.inputHeight = 0
        self.inputPitch = 0
        self.pictureStruct = 1
        self.pictureType = 0

    def __repr__(self) -> str:
        return (
            f"<NV_ENC_PIC_PARAMS encodePicFlags={int(self.encodePicFlags)} inputTimeStamp={int(self.inputTimeStamp)}>"
        )


def _flags_of(parameters: NV_ENC_PIC_PARAMS) -> int:
    if int(parameters.pictureStruct) not in (0, 1):
        message = f"pictureStruct is {int(parameters.pictureStruct)}; encoders here take whole frames, 1"
        raise PyNvVCExceptionUnsupported(message)
    is_key = int(parameters.pictureType) in (NV_ENC_PIC_TYPE.I, NV_ENC_PIC_TYPE.IDR)
    return int(parameters.encodePicFlags) | (NV_ENC_PIC_FLAGS.FORCEIDR if is_key else 0)


class PyNvEncoder:
    """Encodes frames to packets of H.264, HEVC (Annex B) or AV1 (IVF).

    Args:
        width, height, usecpuinputbuffer, cudacontext, cudastream: as in :func:`CreateEncoder`.
        format: the layout of the pictures, ``fmt`` of :func:`CreateEncoder`.
        params: the parameters of the document's Table 1.

    Raises:
        ValueError, PyNvVCExceptionUnsupported: as :func:`CreateEncoder`.

    Thread safety: calls from several threads take turns.
    """

    def __init__(
        self,
        width: int,
        height: int,
        format: str,
        cudacontext: int = 0,
        cudastream: int = 0,
        usecpuinputbuffer: bool = False,
        params: Mapping[str, Any] | None = None,
    ) -> None:
        self._lock = make_lock()
        self._width, self._height = int(width), int(height)
        self._format = input_format(format)
        self._host_allowed = bool(usecpuinputbuffer)
        self._stream = int(cudastream) or LEGACY_STREAM
        given = dict(params or {})
        note_options(given)
        self._color: tricodec.video.ColorDescription | None = None
        if source := given.pop("source_av_format_context", None):
            stream = demuxer_of(int(source))._stream
            self._color = stream.color
            given.setdefault("fps", stream.average_frame_rate or stream.real_frame_rate)
        # With a source the packets go to a muxer.
        self._ivf = str(given.pop("use_ivf_container", "0" if source else "1")) not in ("0", "False")
        self._num_threads = integer("num_threads", given.pop("num_threads", 0), 0, 1024)
        settings = read_settings("CreateEncoder", given, self._width, self._height)
        self._settings = settings
        if settings.max_res is not None and (width > settings.max_res[0] or height > settings.max_res[1]):
            message = f"the pictures are {width}x{height}, larger than max_res={list(settings.max_res)}"
            raise ValueError(message)
        if settings.codec == "av1" and not self._format.encoded.startswith("yuv420p"):
            message = f"YUV444 format isn't supported by AV1 encoder: {format!r}; use NV12, YUV420 or P010"
            raise PyNvVCExceptionUnsupported(message)
        self._count = 0  # number of frames so far, and the time of the next one
        self._units: dict[int, bytes] = {}  # by time: the SEI unit before the picture
        self._with_headers: set[int] = set()
        self._timestamps: dict[int, int] = {}
        self._ivf_started = False
        self._files: list[Any] = []  # the memory of CopyToDeviceMemory
        self._held: list[dict[str, Any]] = []  # packets of a session that Reconfigure ended
        self._next_session: encode.Settings | None = None  # the settings that the next session begins with
        self._live: tricodec.Encoder | None = None
        self._open(settings)

    def _open(self, settings: encode.Settings) -> None:
        with translated_errors(f"encoding {settings.codec}"):
            plan = plan_of(settings, tricodec.encode.encoder_for(settings.codec))
            encoded = self._format.encoded
            if encoded == "yuv420p" and self._format.name == "NV12" and plan.encoder == "libx264":
                encoded = "nv12"  # libx264's own layout: no samples are moved
            keywords = {"color": self._color, "num_threads": self._num_threads, **plan.keywords}
            self._live = tricodec.Encoder(self._width, self._height, format=encoded, **keywords)
            self._live._do_not_warn()
            self._plan = plan
            self._session_rate = settings.fps
            self._buffer = ReceiverBuffer(settings)

    @property
    def _encoder(self) -> tricodec.Encoder:
        if self._live is None:
            self._open(self._next_session or self._settings)
            self._next_session = None
        assert self._live is not None
        return self._live

    @property
    def engine(self) -> str:
        """The engine that encodes, as text: "libavcodec libx264"."""
        with self._lock:
            return self._encoder.engine

    def Encode(
        self,
        frame: Any,
        pic_flags: int | NV_ENC_PIC_PARAMS = 0,
        sei: Sei | None = None,
        *,
        picParams: NV_ENC_PIC_PARAMS | None = None,
    ) -> EncodedBitstream:
        """Encode one picture.

        Args:
            frame: a 1-D array of bytes, an object with a ``cuda()`` that returns its planes, or a tensor of the rows of
                all planes: [H * 3 / 2, W] for NV12, also with leading axes of size 1. The elements are uint8, for more
                than 8 bits uint16.
            pic_flags: flags of NV_ENC_PIC_FLAGS, or an NV_ENC_PIC_PARAMS.
            sei: messages for this picture, each a pair of a dict with "sei_type" and the payload as integers.
            picParams: an NV_ENC_PIC_PARAMS, instead of one in ``pic_flags``.

        Returns:
            The packets that are ready, at first none: bytes that iterate as packets.

        Raises:
            ValueError: the picture has another size.
            TypeError: the picture is none of the three kinds, or has elements of another type.
            RuntimeError: the picture is in host memory, but the encoder was made for device memory.
        """  # fmt: skip
        parameters = picParams if picParams is not None else pic_flags
        flags = _flags_of(parameters) if isinstance(parameters, NV_ENC_PIC_PARAMS) else int(parameters)
        picture = picture_of(
            frame, self._format, self._width, self._height, host_allowed=self._host_allowed, stream=self._stream
        )
        with self._lock, translated_errors(f"encoding {self._settings.codec}"):
            encoder = self._encoder
            time = self._count
            if isinstance(parameters, NV_ENC_PIC_PARAMS) and parameters.inputTimeStamp:
                self._timestamps[time] = int(parameters.inputTimeStamp)
            if sei:
                self._units[time] = sei_unit(self._settings.codec, sei)
            if flags & NV_ENC_PIC_FLAGS.OUTPUT_SPSPPS:
                self._with_headers.add(time)
            key = flags & (NV_ENC_PIC_FLAGS.FORCEIDR | NV_ENC_PIC_FLAGS.FORCEINTRA)
            packets = encoder.encode(picture, pts=time, format=self._format.name, force_key=bool(key))
            self._count += 1
            return self._finish(packets)

    def EndEncode(self) -> EncodedBitstream:
        """End the stream: the packets that were held back. A second call returns none."""
        with self._lock, translated_errors(f"encoding {self._settings.codec}"):
            if self._live is None:
                return self._finish([])
            packets = self._live.flush()
            result = self._finish(packets)
            self._live = self._next_session = None  # further pictures begin a new stream
            return result

    def _finish(self, packets: list[tricodec.Packet]) -> EncodedBitstream:
        held, self._held = self._held, []
        return EncodedBitstream.of([*held, *(self._packet(packet) for packet in packets)])

    def _packet(self, packet: tricodec.Packet) -> dict[str, Any]:
        codec = self._settings.codec
        time = packet.pts or 0
        data = bytes(packet)
        self._buffer.take(len(data))
        headers = self._live.headers if self._live is not None else b""
        if time in self._with_headers:
            self._with_headers.discard(time)
            if codec != "av1" and headers and not data.startswith(headers):
                data = headers + data
        if unit := self._units.pop(time, None):
            data = insert_before_picture(codec, data, unit)
        if codec == "av1" and self._ivf:
            data = ivf_frame(data, time)
            if not self._ivf_started:
                rate = self._settings.fps
                data = ivf_header(b"AV01", self._width, self._height, (rate.numerator, rate.denominator)) + data
                self._ivf_started = True
        kind = tricodec.video.picture_type(packet)
        if packet.key:
            picture_type = NV_ENC_PIC_TYPE.IDR
        else:
            picture_type = {"I": NV_ENC_PIC_TYPE.I, "B": NV_ENC_PIC_TYPE.B}.get(kind, NV_ENC_PIC_TYPE.P)
        return {"data": data, "timestamp": self._timestamps.pop(time, time), "picture_type": int(picture_type)}

    def CopyToDeviceMemory(self, path: str | os.PathLike[str]) -> int:
        """Load a file of raw pictures; its address, in memory of the GPU, or of the host without a GPU.

        The memory is valid as long as the encoder.

        Raises:
            OSError: the file cannot be read.
            tricodec.OutOfMemoryError: the GPU has not that much memory.
        """
        memory = raw_file(path)
        with self._lock:
            self._files.append(memory)
        return memory.data_ptr if isinstance(memory, tricodec.DeviceArray) else int(memory.ctypes.data)

    def GetSequenceParams(self) -> bytes:
        """The codec's headers: SPS and PPS (and VPS), or AV1's sequence header."""
        with self._lock:
            return self._encoder.headers

    def GetNumBFrames(self) -> int:
        """Number of B frames between two reference pictures."""
        return self._settings.b_frames

    def GetEncodeReconfigureParams(self) -> structEncodeReconfigureParams:
        """The current values, to change and pass to ``Reconfigure``."""
        with self._lock:
            settings = self._settings
            params = structEncodeReconfigureParams()
            params.rateControlMode = _RC_MODES[settings.rc]
            params.multiPass = _MULTI_PASS[settings.multipass]
            params.averageBitrate = settings.bitrate
            params.maxBitRate = settings.maxbitrate
            params.vbvBufferSize = settings.vbvbufsize
            params.vbvInitialDelay = settings.vbvinit
            params.frameRateNum = settings.fps.numerator
            params.frameRateDen = settings.fps.denominator
            params.targetQuality = settings.cq or 0
            return params

    def Reconfigure(self, params: structEncodeReconfigureParams) -> bool:
        """Change rate control while the encoder runs, from the next frame on.

        Some changes take effect in the running session. Values that the engine does not use change nothing. Any other
        change ends the engine's session and begins another one in the same stream. The next frame is then an IDR
        picture with its headers, numbers continue, and the next call returns the packets that were held back. The
        receiver's buffer stays as full as it is, unless another ``vbvInitialDelay`` is given. The log names the option.
        docs/migration/pynvvideocodec.md has the table of changes by field and engine.

        Returns:
            True.

        Raises:
            TypeError: ``params`` is not a structEncodeReconfigureParams.
            ValueError: a value is not accepted.
        """
        if not isinstance(params, structEncodeReconfigureParams):
            message = f"params must be a structEncodeReconfigureParams, not {type(params).__name__}"
            raise TypeError(message)
        with self._lock, translated_errors(f"encoding {self._settings.codec}"):
            self._apply(params)
        return True

    def _apply(self, params: structEncodeReconfigureParams) -> None:
        if params.targetQuality > _MOST_QUALITY:
            message = f"targetQuality must be from 0 to {_MOST_QUALITY}, not {params.targetQuality}"
            raise ValueError(message)
        if params.averageBitrate == 0 or params.frameRateNum == 0 or params.frameRateDen == 0:
            message = "averageBitrate, frameRateNum and frameRateDen must be positive"
            raise ValueError(message)
        old = self._settings
        new = dataclasses.replace(
            old,
            rc=next(name for name, mode in _RC_MODES.items() if mode == params.rateControlMode),
            multipass=next(name for name, mode in _MULTI_PASS.items() if mode == params.multiPass),
            bitrate=params.averageBitrate,
            maxbitrate=params.maxBitRate or params.averageBitrate,
            vbvbufsize=params.vbvBufferSize or params.averageBitrate,
            vbvinit=params.vbvInitialDelay or params.vbvBufferSize or params.averageBitrate,
            fps=Fraction(params.frameRateNum, params.frameRateDen),
            cq=params.targetQuality or None,
        )
        if self._live is None:
            self._settings = new
            if self._next_session is not None:
                self._next_session = self._buffer.begun(new)
            return
        plan = encode.build(new, self._plan.encoder)
        change = RateChange.between(self._plan, plan)
        if change.names and not (change.running and self._change_running(new, plan)):
            logger.info(
                "a new session begins with an IDR picture: %s can change %s only at its start",
                self._live.engine, ", ".join(change.names),
            )  # fmt: skip
            self._held = [*self._finish(self._live.flush())]
            self._next_session = self._buffer.begun(new)
            self._live = None
        else:
            self._buffer.change(new)
        self._settings, self._plan = new, plan

    def _change_running(self, new: encode.Settings, plan: encode.Plan) -> bool:
        """Changes the rates of the running session; False if its engine cannot."""
        # The session counts frames at the rate that it began with. So a change of the frame rate is a change of bits
        # a second.
        scale = self._session_rate / new.fps
        options = plan.keywords["options"]
        rate, limit = (round(int(options[name]) * scale) if name in options else None for name in ("b", "maxrate"))
        try:
            self._encoder.reconfigure(bit_rate=rate, max_bit_rate=limit, buffer_size=new.vbvbufsize)
        except tricodec.UnsupportedError as error:
            logger.debug("%s", error)
            return False
        return True


def CreateEncoder(
    width: int,
    height: int,
    fmt: str | None = None,
    usecpuinputbuffer: bool | None = None,
    *,
    format: str | None = None,
    usecpuinutbuffer: bool | None = None,
    cudacontext: int = 0,
    cudastream: int = 0,
    **options: Any,
) -> PyNvEncoder:
    """Make an encoder for pictures of one size.

    Args:
        width: width of a picture in pixels.
        height: height of a picture in pixels.
        fmt: the layout of the pictures: "NV12", "ARGB", "ABGR", "YUV444", "YUV420", "P010", "YUV444_16bit", ...
        usecpuinputbuffer: False if pictures are in device memory, True if they are arrays in host memory.
        format: the same as ``fmt``, as the document spells it.
        usecpuinutbuffer: the same as ``usecpuinputbuffer``, as version 1.0 spells it.
        cudacontext: accepted without effect; pictures of any context are encoded.
        cudastream: handle of a CUDA stream: the encoder reads a picture in device memory after the work queued there.
            A CUDA array interface that names a stream overrides it. 0 is the default stream.
        options: the parameters of the document's Table 1, as numbers, strings or lists, nested ones also by its names:
            ``**{"slice::mode": 3, "slice::data": 4}``. ``set_api_version`` says what ``bf`` means. Of three limits for
            P, B and I pictures (``qmin``, ``qmax``) the strictest one holds for all pictures. Three values of ``gop``
            must be equal. And ``num_threads`` of the CPU's encoder: by default 0, as many as it chooses: rate
            control makes other bytes in each run; 1 makes equal bytes of equal pictures.

    Raises:
        ValueError: a format, size or parameter is not accepted; the text lists the accepted ones.
        PyNvVCExceptionUnsupported: the encoder cannot do what a parameter requests; the text gives the reason.
    """
    chosen = fmt if fmt is not None else format
    if chosen is None:
        message = "CreateEncoder needs the format of the pictures: CreateEncoder(1920, 1080, 'NV12', False)"
        raise TypeError(message)
    host = usecpuinputbuffer if usecpuinputbuffer is not None else usecpuinutbuffer
    if host is None:
        message = "CreateEncoder needs usecpuinputbuffer: False for device memory, True for arrays in host memory"
        raise TypeError(message)
    return PyNvEncoder(
        int(width), int(height), chosen, int(cudacontext), int(cudastream), bool(host), format_optional_params(options)
    )
