# SPDX-License-Identifier: Apache-2.0
"""What of an encoder's rate changes while it runs, what only a new session can change, and what that one takes over."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

from tricodec.encode_parameters import Plan, Settings, differences

#: What an encoder that can be told of rates is told of; other names of a plan are read at a session's start only.
_RATES = frozenset({"b", "maxrate", "bufsize", "frame_rate"})
#: The state of the buffer at a session's start, which says nothing to one that runs.
_INITIAL = frozenset({"vbv-init"})


@dataclasses.dataclass(frozen=True)
class RateChange:
    """The way from the settings in force to others.

    Attributes:
        names: what differs for the encoder, by its own options' names; empty where it is told the same.
        running: True if an encoder whose rates can be changed does it in the running stream.
    """

    names: tuple[str, ...]
    running: bool

    @classmethod
    def between(cls, old: Plan, new: Plan) -> RateChange:
        """Of two plans for one encoder."""
        names = differences(old, new) - _INITIAL
        if names == {"frame_rate"} and not _limits_rate(new):
            names = frozenset()  # the same pictures at another rate: a quantizer counts no bits a second
        return cls(tuple(sorted(names)), names <= _RATES)


def _limits_rate(plan: Plan) -> bool:
    return not {"b", "maxrate"}.isdisjoint(plan.words["options"])


class ReceiverBuffer:
    """The buffer of a receiver (VBV): it fills at the greatest rate and each picture takes its bits out at once.

    Args:
        settings: those of the session that begins.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.bits: Fraction = Fraction(min(settings.vbvinit, settings.vbvbufsize))

    def take(self, num_bytes: int) -> None:
        """The next packet, in the order of decoding."""
        settings = self._settings
        left = max(Fraction(0), self.bits - 8 * num_bytes)
        self.bits = min(left + settings.greatest_rate / settings.fps, Fraction(settings.vbvbufsize))

    def change(self, settings: Settings) -> None:
        """Other rates from here on; what has arrived stays."""
        self._settings = settings
        self.bits = min(self.bits, Fraction(settings.vbvbufsize))

    def begun(self, settings: Settings) -> Settings:
        """Settings for a session that begins in the middle of a stream, with the buffer as it is.

        A buffer that the caller has given (another ``vbvinit`` than before) begins as given, and so does one after
        pictures of constant quantizers, which keep to none.
        """
        before = self._settings
        if settings.vbvinit != before.vbvinit or before.rc == "constqp" or before.lossless:
            self.bits = Fraction(settings.vbvinit)
        self.change(settings)
        return dataclasses.replace(settings, vbvinit=max(1, int(self.bits)))
