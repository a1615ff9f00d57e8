# SPDX-License-Identifier: Apache-2.0
"""The options that each parameter of NVIDIA's encoder API sets on each encoder: one row for each parameter."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from tricodec.encode.settings import CPU_ENCODERS, PRESETS, TUNINGS, Settings
from tricodec.errors import UnsupportedError

__all__ = ["TABLE", "Column", "Effect", "Refused", "Row"]

_X26X_PRESETS = dict(zip(PRESETS, "ultrafast superfast veryfast faster fast medium slow".split(), strict=True))
_SVT_PRESETS = dict(zip(PRESETS, (12, 11, 10, 9, 8, 6, 4), strict=True))
_NVENC_TUNINGS = dict(zip(TUNINGS, ("hq", "ll", "ull", "lossless"), strict=True))

#: The effect of a parameter on one encoder: options by FFmpeg's names. Options of "x264-params", "x265-params" and
#: "svtav1-params" are written "params:NAME". A str is the reason why the parameter has no effect; it is no error.
Effect = dict[str, Any] | str
Column = Callable[[Settings], Effect]

_log = logging.getLogger("tricodec")


class Refused(UnsupportedError):
    """An encoder cannot do what a parameter requests."""


@dataclasses.dataclass(frozen=True)
class Row:
    """One parameter on all encoders. ``none`` is true for settings without it: then it sets nothing."""

    names: tuple[str, ...]
    x264: Column
    x265: Column
    svtav1: Column
    nvenc: Column
    none: Callable[[Settings], bool] = lambda _: False

    @classmethod
    def everywhere(
        cls, names: tuple[str, ...], column: Column, none: Callable[[Settings], bool] = lambda _: False
    ) -> Row:
        """A row with the same column for all encoders."""
        return cls(names, column, column, column, column, none)

    def effect(self, encoder: str, settings: Settings) -> Effect:
        """The effect of settings on an encoder. Raises Refused."""
        if self.none(settings):
            return {}
        column = {"libx264": self.x264, "libx265": self.x265, "libsvtav1": self.svtav1}.get(encoder, self.nvenc)
        return column(settings)


def _refusal(parameter: str, encoder: str, reason: str) -> Column:
    def column(settings: Settings) -> Effect:
        raise Refused(f"{parameter} is not possible with {encoder}: {reason}")

    return column


def _silent(reason: str) -> Column:
    return lambda _: reason


def _clamped(encoder: str, name: str, value: int, least: int, most: int) -> int:
    """The nearest value that an encoder accepts; the log says which it is if it is another one."""
    kept = min(max(value, least), most)
    if kept != value:
        _log.warning("%s is %d with %s, not %d: it accepts %d to %d", name, kept, encoder, value, least, most)
    return kept


def _qp_ratio(high: int, low: int) -> str:
    return f"{2.0 ** ((high - low) / 6.0):.6f}"


def _x265_spare(settings: Settings) -> int:
    """Bits of the receiver's buffer that libx265 does not get.

    With lookahead libx265 can take more bits from a buffer than it holds: 3.5 took up to 4 % more (noise, a buffer of a
    quarter of a second that began less than half full). A buffer that is smaller and less full by the same bits is
    never emptier than the receiver's. Single pictures are too large, so half a second needs the largest reserve.
    """
    return min(settings.vbvbufsize, settings.greatest_rate // 2) // 8


def _x26x_rate(settings: Settings, lossless: dict[str, Any], spare: int = 0) -> dict[str, Any]:
    if settings.lossless:
        return lossless
    if settings.rc == "constqp":
        p, b, i = settings.constqp or (28, 31, 25)
        # One QP and two ratios give the three QPs; differences of QPs are 6 log2(ratio).
        return {"qp": p, "params:ipratio": _qp_ratio(p, i), "params:pbratio": _qp_ratio(b, p)}
    encoder, kilobit, most = CPU_ENCODERS[settings.codec], 1000, 2**32 - 1  # both count whole kilobits
    size = max(kilobit, _clamped(encoder, "vbvbufsize", settings.vbvbufsize, kilobit, most) - spare)
    filled = min(settings.vbvinit - spare, size)
    buffer = {"bufsize": size, "params:vbv-init": f"{max(0.0001, filled / size):.4f}"}
    if settings.cq:
        limit = _clamped(encoder, "maxbitrate", settings.vbr_limit, kilobit, most)
        return {"crf": _clamped(encoder, "cq", settings.cq, 1, 51), "maxrate": limit} | buffer
    rate = _clamped(encoder, "bitrate", settings.bitrate, kilobit, most)
    return {"b": rate, "maxrate": max(rate, settings.greatest_rate)} | buffer


def _x265_rate(settings: Settings) -> Effect:
    effect = _x26x_rate(settings, {"params:lossless": 1}, _x265_spare(settings))
    if "bufsize" in effect:
        # libx265 does not count the text of its settings, 20 kbit in the first picture.
        effect["params:info"] = 0
    return effect


def _svt_low_delay(settings: Settings) -> bool:
    """Whether no picture waits for a later one."""
    return settings.tuning_info != "high_quality" or settings.b_frames == 0


def _svt_rate(settings: Settings) -> Effect:
    if settings.lossless:
        raise Refused("tuning_info='lossless' is not possible with libsvtav1: this version has no lossless mode")
    if settings.rc == "constqp":
        # The document's range is that of the bitstream, 0..255; SVT-AV1 has steps of four.
        p, _, _ = settings.constqp or (112, 124, 100)
        return {"qp": max(1, min(63, round(p / 4))), "params:aq-mode": 0, "params:rc": 0}
    if settings.cq:
        return {"crf": min(63, settings.cq)}
    # SVT-AV1 has a constant rate (2) in low-delay order, a variable rate (1) in the other order, and no limit beside an
    # average. Version 2.3 refuses other combinations, 1.4 treats 1 as 2 in low-delay order.
    return {"b": settings.bitrate, "params:rc": 2 if _svt_low_delay(settings) else 1}


def _nvenc_rate(settings: Settings) -> Effect:
    if settings.lossless:
        return {}
    if settings.rc == "constqp":
        p, b, i = settings.constqp or (28, 31, 25)
        return {"rc": "constqp", "init_qpP": p, "init_qpB": b, "init_qpI": i}
    if settings.cq:
        return {"rc": "vbr", "cq": settings.cq, "b": 0, "maxrate": settings.vbr_limit, "bufsize": settings.vbvbufsize}
    return {
        "rc": settings.rc, "b": settings.bitrate, "maxrate": settings.greatest_rate, "bufsize": settings.vbvbufsize,
    }  # fmt: skip


def _x265_tuning(settings: Settings) -> Effect:
    return {"tune": "zerolatency"} if settings.tuning_info == "ultra_low_latency" else {}


def _x264_tuning(settings: Settings) -> Effect:
    return {"params:sync-lookahead": 0} if settings.tuning_info == "low_latency" else _x265_tuning(settings)


def _svt_tuning(settings: Settings) -> Effect:
    return {"params:pred-struct": 1} if _svt_low_delay(settings) else {}


def _limits(settings: Settings) -> Effect:
    """Encoders have one limit for all pictures: here the one that keeps the limits of P, B and I pictures."""
    least = None if settings.qmin is None else max(settings.qmin)
    most = None if settings.qmax is None else min(settings.qmax)
    if least is not None and most is not None and least > most:
        raise Refused(
            f"qmin={settings.qmin} with qmax={settings.qmax} (P, B, I) is not possible: these encoders have one "
            f"limit for all pictures, and no quantizer is {least} or more and {most} or less; give one number each"
        )
    return {name: limit for name, limit in (("qmin", least), ("qmax", most)) if limit is not None}


def _svt_limits(settings: Settings) -> Effect:
    return {key: max(1, value // 4) for key, value in dict(_limits(settings)).items()}  # type: ignore[arg-type]


def _slice_count(settings: Settings, block: int) -> int:
    """The number of slices of modes 2 and 3."""
    if settings.slice_mode == 3:
        return max(1, settings.slice_data)
    rows = -(-settings.height // block)
    return -(-rows // max(1, settings.slice_data))


def _x264_slices(settings: Settings) -> Effect:
    if settings.slice_mode == 3:
        return {"slices": settings.slice_data}
    columns = -(-settings.width // 16)
    return {"params:slice-max-mbs": settings.slice_data * (columns if settings.slice_mode == 2 else 1)}


def _x265_slices(settings: Settings) -> Effect:
    if settings.slice_mode == 0:
        raise Refused("slice mode 0 is not possible with libx265: its slices end at rows; use mode 2 or 3")
    return {"params:slices": _slice_count(settings, 64)}


def _nvenc_slices(settings: Settings) -> Effect:
    if settings.slice_mode == 0:
        raise Refused("slice mode 0 is not possible: libavcodec sets a number of slices for NVENC; use mode 2 or 3")
    return {"slices": _slice_count(settings, 16 if settings.codec == "h264" else 32)}


def _timing(filter_name: str) -> Column:
    def column(settings: Settings) -> Effect:
        rate = Fraction(settings.timescale or 0, settings.num_unit_in_ticks or 1)
        return {"bitstream_filter": f"{filter_name}_metadata=tick_rate={rate.numerator}/{rate.denominator}"}

    return column


def _color(settings: Settings) -> Effect:
    name = "smpte170m" if settings.colorspace == "bt601" else "bt709"
    return {"color": {"matrix": name, "primaries": name, "transfer": name, "range": "limited"}}


def _x26x_aq(settings: Settings) -> Effect:
    if settings.aq == 0:
        return {"params:aq-mode": 0}
    return {"params:aq-mode": 1, "params:aq-strength": 1.0 if settings.aq == 1 else settings.aq / 8}


def _depth(settings: Settings) -> int:
    """Lookahead of x264 and x265 in pictures: their first pass is at half size, like qres."""
    wanted = settings.lookahead
    if settings.multipass != "disabled" or settings.temporalaq:
        wanted = max(wanted, 10)
    return wanted


def _x265_depth(settings: Settings) -> int:
    """x265 looks beyond its B frames. Any lookahead lets it hold back a picture for each of its threads."""
    least = 0 if settings.b_frames == 0 and settings.tuning_info.endswith("low_latency") else settings.b_frames + 1
    return _clamped("libx265", "lookahead", max(_depth(settings), least), 0, 250)


def _profile(settings: Settings) -> Effect:
    return {"profile": settings.profile}


TABLE: tuple[Row, ...] = (
    Row(
        ("preset",),
        lambda s: {"preset": _X26X_PRESETS[s.preset]},
        lambda s: {"preset": _X26X_PRESETS[s.preset]},
        lambda s: {"preset": _SVT_PRESETS[s.preset]},
        lambda s: {"preset": s.preset.lower()},
    ),
    Row(("tuning_info",), _x264_tuning, _x265_tuning, _svt_tuning, lambda s: {"tune": _NVENC_TUNINGS[s.tuning_info]}),
    Row(
        ("rc", "bitrate", "maxbitrate", "vbvbufsize", "vbvinit", "constqp", "cq"),
        lambda s: _x26x_rate(s, {"qp": 0}),
        _x265_rate,
        _svt_rate,
        _nvenc_rate,
    ),
    Row(
        ("gop", "idrperiod"),
        lambda s: {"params:keyint": s.key_distance if s.key_distance > 0 else "infinite",
                   "params:min-keyint": max(1, s.key_distance), "params:scenecut": 0},
        lambda s: {"params:keyint": s.key_distance, "params:min-keyint": max(1, s.key_distance), "params:scenecut": 0,
                   "params:open-gop": 0},
        lambda s: {"g": s.key_distance if s.key_distance > 0 else -1},
        lambda s: {"g": s.key_distance if s.key_distance > 0 else 2**31 - 1, "no-scenecut": 1, "strict_gop": 1},
    ),
    Row(
        ("bf",),
        lambda s: {"bf": s.b_frames, "params:b-adapt": 0, "params:b-pyramid": "none"},
        lambda s: {"bf": s.b_frames, "params:b-adapt": 0, "params:b-pyramid": 0},
        _silent("its hierarchy of pictures is fixed: bf 0 and 1 give low delay, 2 and more its usual pyramid"),
        lambda s: {"bf": s.b_frames},
    ),
    Row(
        ("initqp",),
        lambda s: {"params:zones": f"0,0,q={s.initqp[2]}"},  # type: ignore[index]
        lambda s: {"params:zones": f"0,0,q={s.initqp[2]}"},  # type: ignore[index]
        _refusal("initqp", "libsvtav1", "its rate control chooses the first quantizer itself"),
        lambda s: {"init_qpP": s.initqp[0], "init_qpB": s.initqp[1], "init_qpI": s.initqp[2]},  # type: ignore[index]
        none=lambda s: s.initqp is None,
    ),
    Row(("qmin", "qmax"), _limits, _limits, _svt_limits, _limits, none=lambda s: s.qmin is None and s.qmax is None),
    Row(
        ("lookahead", "multipass"),
        lambda s: {"params:rc-lookahead": _clamped("libx264", "lookahead", _depth(s), 0, 250)},
        lambda s: {"params:rc-lookahead": _x265_depth(s)},
        lambda s: {"params:lookahead": _clamped("libsvtav1", "lookahead", s.lookahead, 0, 120)} if s.lookahead else {},
        lambda s: {"rc-lookahead": s.lookahead, "multipass": s.multipass},
    ),
    Row(
        ("aq",), _x26x_aq, _x26x_aq,
        lambda s: {} if s.rc == "constqp" else {"params:aq-mode": 2} if s.aq else "its rate control always needs aq",
        lambda s: {"spatial-aq": int(s.aq > 0)} | ({"aq-strength": s.aq} if s.aq > 1 else {}),
    ),
    Row(
        ("temporalaq",),
        lambda s: {"params:mbtree": s.temporalaq},
        lambda s: {"params:cutree": s.temporalaq},
        _refusal("temporalaq", "libsvtav1", "it has no switch for quantizers that follow the motion"),
        lambda s: {"temporal-aq": s.temporalaq},
        none=lambda s: s.codec == "av1" and s.temporalaq == 0,
    ),
    Row(
        ("ldkfs",),
        lambda s: {"params:ipratio": f"{max(1.0, 1.4 - s.ldkfs / 254):.3f}"},
        lambda s: {"params:ipratio": f"{max(1.0, 1.4 - s.ldkfs / 254):.3f}"},
        _refusal("ldkfs", "libsvtav1", "it cannot hold back bits of key frames"),
        lambda s: {"ldkfs": s.ldkfs},
        none=lambda s: s.ldkfs == 0 or s.rc == "constqp" or s.lossless,
    ),
    Row.everywhere(("colorspace",), _color, none=lambda s: s.colorspace is None),
    Row(
        ("num_unit_in_ticks", "timescale"),
        _timing("h264"),
        _timing("hevc"),
        _refusal("timinginfo", "libsvtav1", "only H.264 and HEVC have it"),
        lambda s: _timing(s.codec)(s),
        none=lambda s: not (s.num_unit_in_ticks and s.timescale),
    ),
    Row(
        ("slice_mode", "slice_data"),
        _x264_slices,
        _x265_slices,
        _refusal("slice", "libsvtav1", "AV1 has no slices"),
        _nvenc_slices,
        none=lambda s: s.slice_data == 0,
    ),
    Row.everywhere(("repeatspspps",), lambda s: {"repeat_headers": bool(s.repeatspspps)}),
    Row.everywhere(("fps",), lambda s: {"frame_rate": s.fps}),
    Row.everywhere(
        ("max_res",), _silent("the encoder allocates memory for any supported size"),
        none=lambda s: s.max_res is None,
    ),
    Row(("profile",), _profile, _profile, _silent("its profile follows from the format"), _profile,
        none=lambda s: s.profile is None),
    Row(
        ("level", "tier"),
        lambda s: {"level": s.level} if s.level else {},
        lambda s: ({"params:level-idc": s.level} if s.level else {})
        | ({"params:high-tier": int(s.tier in ("high", "1"))} if s.tier else {}),
        _silent("it chooses the level itself"),
        lambda s: ({"level": s.level} if s.level else {}) | ({"tier": s.tier} if s.tier and s.codec == "hevc" else {}),
        none=lambda s: s.level is None and s.tier is None,
    ),
    Row(
        ("numrefl0",), lambda s: {"refs": s.numrefl0}, lambda s: {"params:ref": s.numrefl0},
        _silent("its hierarchy of pictures is fixed"), lambda s: {"refs": s.numrefl0}, none=lambda s: s.numrefl0 == 0,
    ),
)  # fmt: skip
