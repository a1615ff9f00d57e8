# SPDX-License-Identifier: Apache-2.0
"""Options of an encoder: their names and values, the abilities of CPU encoders, changes while an encoder runs."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import tricodec
from tricodec import encode
from tricodec.encode import Plan, Settings, differences
from tricodec.encode.settings import integer

from . import _calls
from ._calls import logger
from ._enums import NV_ENC_MULTI_PASS, NV_ENC_PARAMS_RC_MODE

#: Options that 1.0 does not know.
_OF_2 = {"gpu_id", "use_ivf_container", "source_av_format_context", "global_header", "level", "tier"}

#: Accepted for programs that set them: they have no effect, or request what is always the case.
_IGNORED = {"gpuid", "gpu_id", "cudacontext", "cudastream", "enable_async", "bRepeatSPSPPS", "bframes", "numrefl1",
            "global_header"}  # fmt: skip

_warned: set[str] = set()


def note_options(options: Mapping[str, Any]) -> None:
    """Notes which version of the original the options are of."""
    if not _OF_2.isdisjoint(options):
        _calls.note_2()


def read_settings(caller: str, options: Mapping[str, Any], width: int, height: int) -> encode.Settings:
    """The parameters of Table 1 among the options. Each other name gives one warning.

    Raises:
        ValueError: a value is outside its documented range; the text lists the accepted values.
    """
    if options.get("bf") is not None:
        options = {**options, "bf": _document_bf(caller, options["bf"])}
    settings, unknown = encode.Settings.of(options, width, height)
    for name in unknown:
        if name not in _IGNORED:
            _warn_once(f"{caller}: {name!r} is not a known parameter and is ignored")
    return settings


def _document_bf(caller: str, bf: object) -> int:
    """``bf`` as the document of 1.0 has it: one more than the number of B frames, and 0 for intra pictures only."""
    if _calls.version() == "2.2":
        return integer("bf", bf, 0, 15) + 1
    number = integer("bf", bf, 0, 16)
    if number == 0 and _calls.chosen_version() is None:
        _warn_once(
            f"{caller}: bf=0 gives intra pictures only, as the document of 1.0 says. In 2.x it is no B frames: call "
            "PyNvVideoCodec.set_api_version('2.2'), or with '1.0' to keep this meaning"
        )
    return number


def plan_of(settings: encode.Settings, encoder: str) -> encode.Plan:
    """The plan of settings for an encoder. The log lists parameters without an effect.

    Raises:
        tricodec.UnsupportedError: the encoder cannot do what a parameter requests; the text gives the reason.
    """
    plan = encode.build(settings, encoder)
    for names, reason in plan.notes.items():
        logger.info("%s has no effect with %s: %s", names, plan.encoder, reason)
    return plan


def _warn_once(text: str) -> None:
    if text not in _warned:
        _warned.add(text)
        logger.warning("%s", text)


def tostring(val: object) -> str:
    """An option as text without brackets: ``[20, 21, 22]`` is ``"20, 21, 22"``."""
    return str(val).replace("[", "").replace("]", "")


def format_optional_params(optional_param: Mapping[str, Any]) -> dict[str, str]:
    """Options of ``CreateEncoder`` as strings, without nested values.

    ``slice={"mode": 3, "data": 4}`` becomes ``slice_mode`` and ``slice_data``; the entries of ``timinginfo`` become
    ``num_unit_in_ticks`` and ``timescale``. So do Table 1's own names, such as ``slice::mode``.

    Raises:
        ValueError: one of the two entries of ``slice`` or ``timinginfo`` is missing.
    """
    flat: dict[str, str] = {}
    for key, value in optional_param.items():
        group, _, entry = (part.strip().lower() for part in key.partition("::"))
        names = _NESTED.get(group, {})
        if isinstance(value, Mapping) and names:
            if value.keys() != names.keys():
                message = f"{key} is {dict(value)}; it must have the entries {' and '.join(map(repr, names))}"
                raise ValueError(message)
            flat.update({names[name]: tostring(each) for name, each in value.items()})
        else:
            flat[names.get(entry, key)] = tostring(value)
    for names in _NESTED.values():
        missing = [name for name in names.values() if name not in flat]
        if len(missing) == 1 and any(flat.get(name, "0") != "0" for name in names.values()):
            message = f"{missing[0]} is not given; give {' and '.join(names.values())} together"
            raise ValueError(message)
    return flat


_NESTED = {
    "slice": {"mode": "slice_mode", "data": "slice_data"},
    "timinginfo": {"num_unit_in_ticks": "num_unit_in_ticks", "timescale": "timescale"},
}


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


def _has_encoder(name: str) -> bool:
    try:
        return bool(tricodec.encode.encoder_for(name))
    except (tricodec.UnsupportedError, ValueError):
        return False


def GetEncoderCaps(gpuid: int = 0, codec: str = "h264") -> dict[str, int]:
    """The abilities of the CPU's encoder of a codec, by NVENC's names; {} for a codec without a CPU encoder.

    They describe the CPU's encoder even if a GPU encodes, so ``num_encoder_engines`` is always 0.

    Args:
        gpuid: accepted without effect.
        codec: "h264", "hevc" or "av1", in any case.
    """
    _calls.note_2()
    name = encode.CPU_ENCODERS.get(str(codec).lower())
    if name is None or not _has_encoder(name):
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


_UINT32_MAX = 2**32 - 1


class _Parameter:
    """A field of the struct: a member of an enumeration, or an unsigned 32-bit integer."""

    def __init__(self, kind: type[NV_ENC_PARAMS_RC_MODE] | type[NV_ENC_MULTI_PASS] | None = None) -> None:
        self._kind = kind

    def __set_name__(self, owner: type, name: str) -> None:
        self._name, self._slot = name, "_" + name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else getattr(instance, self._slot)

    def __set__(self, instance: Any, value: Any) -> None:
        if self._kind is not None:
            if not isinstance(value, self._kind):
                message = f"{self._name} must be a {self._kind.__name__}, not {value!r}"
                raise TypeError(message)
        else:
            try:
                value = operator.index(value)
            except TypeError:
                message = f"{self._name} must be an int, not {value!r}; use int()"
                raise TypeError(message) from None
            if not 0 <= value <= _UINT32_MAX:
                message = f"{self._name} must be from 0 to {_UINT32_MAX}, not {value}"
                raise TypeError(message)
        setattr(instance, self._slot, value)


class structEncodeReconfigureParams:
    """Parameters of an encoder that can change while it runs. No other attribute can be set.

    Attributes:
        rateControlMode: rate control, an NV_ENC_PARAMS_RC_MODE.
        multiPass: number and size of passes, an NV_ENC_MULTI_PASS.
        averageBitrate: average rate in bits per second.
        vbvBufferSize: size of the receiver's buffer in bits.
        maxBitRate: greatest rate in bits per second.
        vbvInitialDelay: bits in the receiver's buffer at the start.
        frameRateNum: number of frames in ``frameRateDen`` seconds.
        frameRateDen: see ``frameRateNum``.
        targetQuality: the parameter ``cq``, the quality to which a variable rate keeps; 0 is none.
    """

    __slots__ = (
        "_averageBitrate", "_frameRateDen", "_frameRateNum", "_maxBitRate", "_multiPass", "_rateControlMode",
        "_targetQuality", "_vbvBufferSize", "_vbvInitialDelay",
    )  # fmt: skip

    rateControlMode = _Parameter(NV_ENC_PARAMS_RC_MODE)
    multiPass = _Parameter(NV_ENC_MULTI_PASS)
    averageBitrate = _Parameter()
    vbvBufferSize = _Parameter()
    maxBitRate = _Parameter()
    vbvInitialDelay = _Parameter()
    frameRateNum = _Parameter()
    frameRateDen = _Parameter()
    targetQuality = _Parameter()

    def __init__(self) -> None:
        """All fields 0."""
        self._rateControlMode, self._multiPass = NV_ENC_PARAMS_RC_MODE.CONSTQP, NV_ENC_MULTI_PASS.DISABLED
        self._averageBitrate = self._vbvBufferSize = self._maxBitRate = self._vbvInitialDelay = 0
        self._frameRateNum = self._frameRateDen = self._targetQuality = 0

    def __repr__(self) -> str:
        return (
            f"Reconfig Params [rateControlMode={int(self.rateControlMode)}, multiPass={int(self.multiPass)}, "
            f"averageBitrate={self.averageBitrate}, vbvBufferSize={self.vbvBufferSize}, maxBitRate={self.maxBitRate}, "
            f"vbvInitialDelay={self.vbvInitialDelay}, "
            f"frameRateDen={self.frameRateDen}, frameRateNum={self.frameRateNum}, "
            f"targetQuality={self.targetQuality}]"
        )


#: Options that can change in a running session; encoders read all others only at the start of a session.
_RATES = frozenset({"b", "maxrate", "bufsize", "frame_rate"})
#: The fill of the buffer at the start of a session, without an effect on a running one.
_INITIAL = frozenset({"vbv-init"})


@dataclasses.dataclass(frozen=True)
class RateChange:
    """The change from one plan to another.

    Attributes:
        names: the encoder's options with another value; empty if none changes.
        running: whether an encoder that can change its rates makes this change in the running session.
    """

    names: tuple[str, ...]
    running: bool

    @classmethod
    def between(cls, old: Plan, new: Plan) -> RateChange:
        """The change between two plans for one encoder."""
        names = differences(old, new) - _INITIAL
        if names == {"frame_rate"} and not _limits_rate(new):
            names = frozenset()  # a constant quantizer does not depend on the frame rate
        return cls(tuple(sorted(names)), names <= _RATES)


def _limits_rate(plan: Plan) -> bool:
    return not {"b", "maxrate"}.isdisjoint(plan.keywords["options"])


class ReceiverBuffer:
    """The buffer of a receiver (VBV): it fills at the greatest rate, and each picture removes its bits at once.

    Args:
        settings: the settings of the session that begins.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.bits: Fraction = Fraction(min(settings.vbvinit, settings.vbvbufsize))

    def take(self, num_bytes: int) -> None:
        """Removes a packet of `num_bytes`, in decoding order."""
        settings = self._settings
        left = max(Fraction(0), self.bits - 8 * num_bytes)
        self.bits = min(left + settings.greatest_rate / settings.fps, Fraction(settings.vbvbufsize))

    def change(self, settings: Settings) -> None:
        """Continues with other rates; the bits in the buffer stay."""
        self._settings = settings
        self.bits = min(self.bits, Fraction(settings.vbvbufsize))

    def begun(self, settings: Settings) -> Settings:
        """Settings for a session that begins in the middle of a stream, with the current fill of the buffer.

        The buffer begins with ``vbvinit`` if that has changed, or if the pictures before had constant quantizers, which
        use no buffer.
        """
        before = self._settings
        if settings.vbvinit != before.vbvinit or before.rc == "constqp" or before.lossless:
            self.bits = Fraction(settings.vbvinit)
        self.change(settings)
        return dataclasses.replace(settings, vbvinit=max(1, int(self.bits)))
