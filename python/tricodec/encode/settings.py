# SPDX-License-Identifier: Apache-2.0
"""The parameters of NVIDIA's encoder API, read and checked: Table 1 of PyNvVideoCodec's document."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

#: The encoder of each codec on the CPU, and NVENC's.
CPU_ENCODERS = {"h264": "libx264", "hevc": "libx265", "av1": "libsvtav1"}
NVENC_ENCODERS = {codec: f"{codec}_nvenc" for codec in CPU_ENCODERS}

PRESETS = ("P1", "P2", "P3", "P4", "P5", "P6", "P7")
TUNINGS = ("high_quality", "low_latency", "ultra_low_latency", "lossless")
_SUFFIXES = {"K": 1024, "M": 1048576}


def _refuse_value(name: str, value: object, accepted: str) -> ValueError:
    return ValueError(f"{name} is {value!r}; accepted: {accepted}")


def integer(name: str, value: object, low: int, high: int) -> int:
    """An integer written as a number or as text, in ``low..high``."""
    try:
        number = float(str(value).strip())
    except ValueError:
        number = math.nan
    if not low <= number <= high or number != int(number):
        raise _refuse_value(name, value, f"an integer from {low} to {high}")
    return int(number)


def bit_rate(name: str, value: object) -> int:
    """Bits per second; the suffixes K and M mean 1024 and 1048576."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([KkMm]?)\s*", str(value))
    number = float(match[1]) * _SUFFIXES.get(match[2].upper(), 1) if match else -1.0
    if number != int(number) or not 0 <= number <= 2**32 - 1:
        raise _refuse_value(name, value, "a positive integer of at most 4294967295, also followed by K or M")
    return int(number)


def _parts(value: object) -> list[str]:
    return [part for part in re.split(r"[,\s]+", str(value).strip("[]() ")) if part]


def triple(name: str, value: object, low: int, high: int) -> tuple[int, int, int] | None:
    """One QP for all pictures, or three in the order P, B, I; None for "0,0,0" as text or list, which means unset."""
    numbers = [integer(name, part, low, high) for part in _parts(value)]
    if len(numbers) == 1:
        return (numbers[0],) * 3
    if len(numbers) != 3:
        raise _refuse_value(name, value, "one integer, or three in the order P, B, I")
    return None if numbers == [0, 0, 0] else (numbers[0], numbers[1], numbers[2])


def frame_rate(name: str, value: object) -> Fraction:
    """Frames per second: 30, "29.97" (which is 30000/1001), Fraction(24000, 1001), "30000/1001"."""
    try:
        rate = value if isinstance(value, Fraction) else Fraction(str(value).strip())
    except (ValueError, ZeroDivisionError):
        rate = Fraction(0)
    if rate <= 0:
        raise _refuse_value(name, value, "a positive number")
    ntsc = Fraction(round(rate * 1001 / 1000) * 1000, 1001)
    if rate.denominator != 1 and ntsc > 0 and abs(ntsc - rate) < Fraction(5, 1000):
        return ntsc
    return rate.limit_denominator(100000)


#: Reads a parameter: its name, what is given, and the greatest QP of the codec.
Reader = Callable[[str, object, int], Any]


def _choice(*accepted: str) -> Reader:
    def read(name: str, value: object, _most: int) -> str:
        choice = next((each for each in accepted if each.lower() == str(value).strip().lower()), None)
        if choice is None:
            raise _refuse_value(name, value, ", ".join(accepted))
        return choice

    return read


def _whole(low: int, high: int) -> Reader:
    return lambda name, value, _: integer(name, value, low, high)


def _positive(name: str, value: object, _most: int) -> int | None:
    return integer(name, value, 0, 2**31 - 1) or None


def _rate(name: str, value: object, _most: int) -> int | None:
    return bit_rate(name, value) or None


def _qps(name: str, value: object, most: int) -> tuple[int, int, int] | None:
    return triple(name, value, 0, most)


def _flag(name: str, value: object, _most: int) -> int:
    return int(value) if isinstance(value, bool) else integer(name, value, 0, 1)


def _resolution(name: str, value: object, _most: int) -> tuple[int, int]:
    numbers = re.findall(r"\d+", str(value))
    if len(numbers) != 2 or "0" in numbers:
        raise _refuse_value(name, value, "two positive integers, [3840, 2160]")
    return int(numbers[0]), int(numbers[1])


def _gop(name: str, value: object, _most: int) -> int | None:
    periods = [integer(name, part, -1, 2**31 - 1) for part in _parts(value)]
    if len(periods) not in (1, 3) or len(set(periods)) != 1:
        raise _refuse_value(name, value, "an integer, -1 (no end) or 1 or more, also three times the same")
    return periods[0] or None


def _slice_mode(name: str, value: object, _most: int) -> int:
    mode = integer(name, value, 0, 3)
    if mode == 1:
        raise _refuse_value(name, value, "0 (macroblocks), 2 (rows of macroblocks) or 3 (number of slices)")
    return mode


def _given(default: Any, read: Reader) -> Any:
    """A field that a parameter of this name sets."""
    return dataclasses.field(default=default, metadata={"read": read})


@dataclasses.dataclass(frozen=True)
class Settings:
    """The parameters of Table 1, checked. None means "not given" if that differs from the value of the default."""

    codec: str = "h264"
    preset: str = _given("P4", _choice(*PRESETS))
    tuning_info: str = _given("high_quality", _choice(*TUNINGS))
    rc: str = _given("cbr", _choice("cbr", "vbr", "constqp"))
    bitrate: int = _given(10_000_000, _rate)
    maxbitrate: int = _given(10_000_000, _rate)
    vbvbufsize: int = _given(10_000_000, _rate)
    vbvinit: int = _given(10_000_000, _rate)
    fps: Fraction = _given(Fraction(30), lambda name, value, _: frame_rate(name, value))  # noqa: RUF009
    gop: int | None = _given(None, _gop)
    idrperiod: int = _given(250, _positive)
    bf: int | None = _given(None, _whole(0, 16))
    # A QP of 0 requests lossless pictures. Programs that fill in every field write "0,0,0" for no value.
    constqp: tuple[int, int, int] | None = _given(None, lambda *given: _qps(*given) or (0, 0, 0))
    initqp: tuple[int, int, int] | None = _given(None, _qps)
    qmin: tuple[int, int, int] | None = _given(None, _qps)
    qmax: tuple[int, int, int] | None = _given(None, _qps)
    cq: int | None = _given(None, lambda name, value, _: integer(name, value, 0, 63) or None)
    multipass: str = _given("disabled", _choice("disabled", "qres", "fullres"))
    lookahead: int = _given(0, _whole(0, 255))
    aq: int = _given(0, _whole(0, 15))
    temporalaq: int = _given(0, _flag)
    ldkfs: int = _given(0, _whole(0, 254))
    colorspace: str | None = _given(None, _choice("bt601", "bt709"))
    num_unit_in_ticks: int | None = _given(None, _positive)
    timescale: int | None = _given(None, _positive)
    slice_mode: int = _given(0, _slice_mode)
    slice_data: int = _given(0, _whole(0, 2**20))
    repeatspspps: int = _given(0, _flag)
    max_res: tuple[int, int] | None = _given(None, _resolution)
    profile: str | None = _given(None, lambda _name, value, _: str(value).lower())
    level: str | None = _given(None, lambda _name, value, _: str(value))
    tier: str | None = _given(None, _choice("main", "high", "0", "1"))
    numrefl0: int = _given(0, _positive)
    width: int = 0
    height: int = 0

    @classmethod
    def of(cls, parameters: Mapping[str, object], width: int = 0, height: int = 0) -> tuple[Settings, list[str]]:
        """Read parameters by their documented names; 0 means "unset" for parameters without a value 0.

        Returns:
            The settings, and the names that are no parameters.

        Raises:
            ValueError: a value is outside its documented range; the text lists the accepted values.
        """
        given = {key: value for key, value in parameters.items() if value is not None}
        values: dict[str, Any] = {"width": width, "height": height}
        codec = _choice(*CPU_ENCODERS)("codec", given.pop("codec", "h264"), 0)
        values["codec"] = codec
        most = 255 if codec == "av1" else 51
        unknown = []
        for key, value in given.items():
            reader = _READERS.get(key)
            if reader is None:
                unknown.append(key)
                continue
            result = reader(key, value, most)
            if result is not None:
                values[key] = result
        if "constqp" in values and "rc" not in values:
            values["rc"] = "constqp"
        return cls(**values), unknown

    @property
    def key_distance(self) -> int:
        """Number of frames from one IDR picture to the next; -1 is no further IDR picture.

        These encoders have no use for intra pictures that are no IDR pictures: the shorter of the two periods counts.
        """
        if self.bf == 0 or self.gop == 1:
            return 1
        return self.idrperiod if self.gop is None else self.gop if self.gop == -1 else min(self.gop, self.idrperiod)

    @property
    def b_frames(self) -> int:
        """Number of B frames between two reference pictures. In the document ``bf`` 0 is I, 1 IPP, 2 IBP, 3 IBBP."""
        return 0 if self.bf is None else max(0, self.bf - 1)

    @property
    def vbr_limit(self) -> int:
        """The greatest bit rate of vbr in bits per second, at least its average."""
        return max(self.maxbitrate, self.bitrate)

    @property
    def greatest_rate(self) -> int:
        """The rate in bits per second that fills the receiver's buffer."""
        return self.bitrate if self.rc == "cbr" else self.vbr_limit

    @property
    def lossless(self) -> bool:
        """True if the encoding is lossless."""
        return self.tuning_info == "lossless"


_READERS: dict[str, Reader] = {
    field.name: field.metadata["read"] for field in dataclasses.fields(Settings) if field.metadata
}
PARAMETERS = ("codec", *_READERS)
"""The names of parameters."""
