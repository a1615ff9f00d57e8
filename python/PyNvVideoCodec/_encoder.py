# SPDX-License-Identifier: Apache-2.0
"""CreateEncoder and PyNvEncoder: frames to packets.

``tricodec.encode_parameters`` has the table of what each parameter does on each engine.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import tricodec
from tricodec import encode_parameters

from ._bitstream import EncodedBitstream, insert_before_picture, ivf_frame, ivf_header, sei_unit
from ._demuxer import demuxer_of
from ._encoder_input import input_format, picture_of
from ._enums import NV_ENC_MULTI_PASS, NV_ENC_PARAMS_RC_MODE, NV_ENC_PIC_FLAGS, NV_ENC_PIC_TYPE
from ._errors import PyNvVCExceptionUnsupported, translated_errors
from ._log import logger
from ._options import format_optional_params
from ._reconfigure import structEncodeReconfigureParams

Sei = Sequence[tuple[Mapping[str, int], Sequence[int]]]

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
#: Accepted so that programs run; what they ask for is so anyway, or has no meaning here.
_IGNORED = {"gpuid", "gpu_id", "cudacontext", "cudastream", "enable_async", "bRepeatSPSPPS", "bframes", "numrefl1",
            "global_header"}  # fmt: skip

_warned: set[str] = set()


def _warn_once(text: str) -> None:
    if text not in _warned:
        _warned.add(text)
        logger.warning("%s", text)


class NV_ENC_PIC_PARAMS:
    """How one picture is encoded, for ``Encode(frame, picParams=...)``."""

    def __init__(self) -> None:
        """All fields 0."""
        self.encodePicFlags = 0
        self.inputTimeStamp = 0
        self.frameIdx = 0
        self.inputDuration = 0
        self.inputWidth = 0
        self.inputHeight = 0
        self.inputPitch = 0

    def __repr__(self) -> str:
        return (
            f"<NV_ENC_PIC_PARAMS encodePicFlags={int(self.encodePicFlags)} inputTimeStamp={int(self.inputTimeStamp)}>"
        )


class PyNvEncoder:
    """Frames to packets of H.264, HEVC (Annex B) or AV1 (IVF).

    Args:
        width: pixels.
        height: pixels.
        format: the layout of the pictures; see ``docs/encoding.md``.
        cudacontext: accepted; the engine takes pictures of any context.
        cudastream: accepted.
        usecpuinputbuffer: True if pictures come as arrays in host memory.
        params: the parameters of the document's Table 1.

    Raises:
        ValueError: a format, size or parameter that is not accepted; the text says which are.
        PyNvVCExceptionUnsupported: the encoder cannot do what a parameter asks for; the text says why.

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
        self._lock = threading.RLock()
        self._width, self._height = int(width), int(height)
        self._format = input_format(format)
        self._host_allowed = bool(usecpuinputbuffer)
        given = dict(params or {})
        self._color: tricodec.ColorDescription | None = None
        if source := given.pop("source_av_format_context", None):
            stream = demuxer_of(int(source)).video
            self._color = stream.color
            given.setdefault("fps", stream.average_frame_rate or stream.real_frame_rate)
        self._ivf = str(given.pop("use_ivf_container", "1")) not in ("0", "False")
        settings, unknown = encode_parameters.Settings.of(given, self._width, self._height)
        for name in unknown:
            if name not in _IGNORED:
                _warn_once(f"CreateEncoder: {name!r} is no parameter that is known here and is ignored")
        self._settings = settings
        if settings.max_res is not None and (width > settings.max_res[0] or height > settings.max_res[1]):
            message = f"the pictures are {width}x{height}, larger than max_res={list(settings.max_res)}"
            raise ValueError(message)
        if settings.codec == "av1" and not self._format.encoded.startswith("yuv420p"):
            message = f"YUV444 format isn't supported by AV1 encoder: {format!r}; use NV12, YUV420 or P010"
            raise PyNvVCExceptionUnsupported(message)
        self._count = 0  # frames so far, which is the next one's time
        self._units: dict[int, bytes] = {}  # by time: what goes before the picture
        self._with_headers: set[int] = set()
        self._timestamps: dict[int, int] = {}
        self._ivf_started = False
        self._held: list[dict[str, Any]] = []  # of a session that Reconfigure ended
        self._live: tricodec.Encoder | None = None
        self._open()

    def _open(self) -> None:
        settings = self._settings
        with translated_errors(f"encoding {settings.codec}"):
            plan = encode_parameters.build(settings, tricodec.encoder_for(settings.codec))
            for names, reason in plan.notes.items():
                logger.info("%s has no effect with %s: %s", names, plan.encoder, reason)
            encoded = self._format.encoded
            if encoded == "yuv420p" and self._format.word == "NV12" and plan.encoder == "libx264":
                encoded = "nv12"  # as libx264 itself has it: nothing is rearranged
            words = {"color": self._color, **plan.words}
            self._live = tricodec.Encoder(self._width, self._height, format=encoded, **words)
            self._session = settings

    @property
    def _encoder(self) -> tricodec.Encoder:
        if self._live is None:
            self._open()
        assert self._live is not None
        return self._live

    @property
    def engine(self) -> str:
        """Who encodes, for people: "libavcodec libx264"."""
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
        """Feeds one picture.

        Args:
            frame: a 1-D array of bytes, an object whose ``cuda()`` gives its planes, or a tensor of all planes' rows,
                [H * 3 / 2, W] for NV12, also with leading axes of 1.
            pic_flags: flags of NV_ENC_PIC_FLAGS, or an NV_ENC_PIC_PARAMS.
            sei: messages for this picture: (dict with "sei_type", payload as integers) each.
            picParams: the same as an NV_ENC_PIC_PARAMS given for ``pic_flags``.

        Returns:
            The packets that are ready, none of them at first: bytes that also iterate as packets.

        Raises:
            ValueError: the picture has another size.
            TypeError: it is none of the three kinds, or has other elements.
            RuntimeError: it is in host memory and the encoder was made for device memory.
        """  # fmt: skip
        parameters = picParams if picParams is not None else pic_flags
        flags = int(parameters.encodePicFlags if isinstance(parameters, NV_ENC_PIC_PARAMS) else parameters)
        picture = picture_of(frame, self._format, self._width, self._height, host_allowed=self._host_allowed)
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
            packets = encoder.encode(picture, pts=time, format=self._format.word, force_key=bool(key))
            self._count += 1
            return self._finish(packets)

    def EndEncode(self) -> EncodedBitstream:
        """The packets that are still held back. A second time there are none."""
        with self._lock, translated_errors(f"encoding {self._settings.codec}"):
            if self._live is None:
                return self._finish([])
            packets = self._live.flush()
            result = self._finish(packets)
            self._live = None  # pictures that come all the same begin a new stream
            return result

    def _finish(self, packets: list[tricodec.Packet]) -> EncodedBitstream:
        held, self._held = self._held, []
        return EncodedBitstream.of([*held, *(self._packet(packet) for packet in packets)])

    def _packet(self, packet: tricodec.Packet) -> dict[str, Any]:
        codec = self._settings.codec
        time = packet.pts or 0
        data = bytes(packet)
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
        kind = tricodec.picture_type(packet)
        if packet.key:
            picture_type = NV_ENC_PIC_TYPE.IDR
        else:
            picture_type = {"I": NV_ENC_PIC_TYPE.I, "B": NV_ENC_PIC_TYPE.B}.get(kind, NV_ENC_PIC_TYPE.P)
        return {"data": data, "timestamp": self._timestamps.pop(time, time), "picture_type": int(picture_type)}

    def GetSequenceParams(self) -> bytes:
        """The codec's headers: SPS and PPS (and VPS), or AV1's sequence header."""
        with self._lock:
            return self._encoder.headers

    def GetNumBFrames(self) -> int:
        """B frames between two reference pictures."""
        return self._settings.b_frames

    def GetEncodeReconfigureParams(self) -> structEncodeReconfigureParams:
        """The values that are in force, to change and hand to ``Reconfigure``."""
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
            return params

    def Reconfigure(self, params: structEncodeReconfigureParams) -> bool:
        """Changes rate control while the encoder runs, from the next frame on.

        libx264 and NVENC change bit rates, buffer, frame rate, and cbr to vbr and back in the running stream, whose
        headers keep the rate that they began with. What an engine cannot change so (libx265 and SVT-AV1: all of it;
        libx264 and NVENC through libavcodec: to and from constqp, multipass) ends its session and begins another one,
        with an IDR picture; the packets that were held back come with the next call, and the log tells why.

        Returns:
            True.

        Raises:
            TypeError: ``params`` is no structEncodeReconfigureParams.
            ValueError: a value is not accepted.
        """
        if not isinstance(params, structEncodeReconfigureParams):
            message = f"params must be a structEncodeReconfigureParams, not {type(params).__name__}"
            raise TypeError(message)
        with self._lock, translated_errors(f"encoding {self._settings.codec}"):
            self._apply(params)
        return True

    def _apply(self, params: structEncodeReconfigureParams) -> None:
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
        )
        self._settings = new
        if new == old or new.lossless or self._live is None:
            return
        same_mode = (old.rc == "constqp") == (new.rc == "constqp") and old.multipass == new.multipass
        if same_mode and self._change_running(new):
            return
        logger.info("a new session begins: %s cannot change its rate mode or multipass", self._live.engine)
        self._held = [*self._held, *self._finish(self._live.flush())]
        self._live = None

    def _change_running(self, new: encode_parameters.Settings) -> bool:
        """Tells the running session of other rates; False if its engine cannot change them."""
        if new.rc == "constqp" or new.cq:
            return True  # the frame rate, which these do not look at
        # The session counts frames of the rate that it began with: more bits a second at fewer frames a second are the
        # same bits a frame.
        scale = self._session.fps / new.fps
        limit = new.bitrate if new.rc == "cbr" else new.vbr_limit
        try:
            self._encoder.reconfigure(
                bit_rate=round(new.bitrate * scale), max_bit_rate=round(limit * scale), buffer_size=new.vbvbufsize
            )
        except tricodec.UnsupportedError as error:
            logger.info("%s", error)
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
    """An encoder for pictures of one size.

    Args:
        width: pixels.
        height: pixels.
        fmt: the layout of the pictures: "NV12", "ARGB", "ABGR", "YUV444", "YUV420", "P010", "YUV444_16bit", ...
        usecpuinputbuffer: False if pictures are in device memory, True if they are arrays in host memory.
        format: the same as ``fmt``, as the document spells it.
        usecpuinutbuffer: the same as ``usecpuinputbuffer``, as version 1.0 spells it.
        cudacontext: accepted; the engine takes pictures of any context.
        cudastream: accepted.
        options: the parameters of the document's Table 1, as numbers, strings or lists.

    Raises:
        ValueError: a format, size or parameter that is not accepted; the text says which are.
        PyNvVCExceptionUnsupported: the encoder cannot do what a parameter asks for; the text says why.
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


_CAPS = """
num_max_bframes supported_ratecontrol_modes support_field_encoding support_monochrome support_fmo
support_qpelmv support_bdirect_mode support_cabac support_adaptive_transform support_stereo_mvc
num_max_temporal_layers support_hierarchical_pframes support_hierarchical_bframes level_max level_min
separate_colour_plane width_max height_max support_temporal_svc support_dyn_res_change
support_dyn_bitrate_change support_dyn_force_constqp support_dyn_rcmode_change support_subframe_readback
support_constrained_encoding support_intra_refresh support_custom_vbv_buf_size support_dynamic_slice_mode
support_ref_pic_invalidation preproc_support async_encode_support mb_num_max mb_per_sec_max
support_yuv444_encode support_lossless_encode support_sao support_meonly_mode support_lookahead
support_temporal_aq support_10bit_encode num_max_ltr_frames support_weighted_prediction
dynamic_query_encoder_capacity support_bframe_ref_mode support_emphasis_level_map width_min height_min
support_multiple_ref_frames support_alpha_layer_encoding num_encoder_engines single_slice_intra_refresh
disable_enc_state_advance output_recon_surface output_block_stats output_row_stats unknown
support_yuv422_encode
""".split()


def GetEncoderCaps(gpuid: int = 0, codec: str = "h264") -> dict[str, int]:
    """What the engine of a codec can do here, by NVENC's names; {} for a codec that is not known.

    Where no GPU encodes, the answer is of the encoder on the CPU: ``num_encoder_engines`` is 0 then.
    """
    name = encode_parameters.CPU_ENCODERS.get(str(codec).lower())
    if name is None or name not in tricodec.encoder_names():
        return {}
    limits = tricodec.get_limits()
    x26x = name != "libsvtav1"
    known = {
        "num_max_bframes": 16 if x26x else 0, "supported_ratecontrol_modes": 63 if x26x else 3,
        "support_cabac": int(name == "libx264"), "support_adaptive_transform": int(name == "libx264"),
        "support_bdirect_mode": int(name == "libx264"), "support_hierarchical_bframes": int(not x26x),
        "width_max": min(limits.max_width, 16384), "height_max": min(limits.max_height, 16384),
        "width_min": 16 if x26x else 64, "height_min": 16 if x26x else 64,
        "support_dyn_bitrate_change": int(name == "libx264"), "support_custom_vbv_buf_size": int(x26x),
        "support_dynamic_slice_mode": int(x26x), "support_yuv444_encode": int(x26x),
        "support_lossless_encode": int(x26x), "support_sao": int(name == "libx265"), "support_lookahead": 1,
        "support_temporal_aq": int(x26x), "support_10bit_encode": 1, "support_weighted_prediction": int(x26x),
        "support_multiple_ref_frames": 1, "support_yuv422_encode": int(x26x),
    }  # fmt: skip
    return {cap: known.get(cap, 0) for cap in _CAPS}
