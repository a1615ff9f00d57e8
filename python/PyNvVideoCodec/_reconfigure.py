# SPDX-License-Identifier: Apache-2.0
"""structEncodeReconfigureParams: what of an encoder can be changed while it runs."""

from __future__ import annotations

import operator
from typing import Any

from ._enums import NV_ENC_MULTI_PASS, NV_ENC_PARAMS_RC_MODE

_UINT32_MAX = 2**32 - 1


class _Parameter:
    """A field of the struct: one enumeration, or an unsigned 32-bit integer."""

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
    """What of an encoder can be changed while it runs. No other attribute can be set.

    Attributes:
        rateControlMode: NV_ENC_PARAMS_RC_MODE.
        multiPass: NV_ENC_MULTI_PASS.
        averageBitrate: bits per second.
        vbvBufferSize: bits.
        maxBitRate: bits per second.
        vbvInitialDelay: bits.
        frameRateNum: frames in ``frameRateDen`` seconds.
        frameRateDen: see ``frameRateNum``.
    """

    __slots__ = (
        "_averageBitrate", "_frameRateDen", "_frameRateNum", "_maxBitRate", "_multiPass", "_rateControlMode",
        "_vbvBufferSize", "_vbvInitialDelay",
    )  # fmt: skip

    rateControlMode = _Parameter(NV_ENC_PARAMS_RC_MODE)
    multiPass = _Parameter(NV_ENC_MULTI_PASS)
    averageBitrate = _Parameter()
    vbvBufferSize = _Parameter()
    maxBitRate = _Parameter()
    vbvInitialDelay = _Parameter()
    frameRateNum = _Parameter()
    frameRateDen = _Parameter()

    def __init__(self) -> None:
        """All fields 0."""
        self._rateControlMode, self._multiPass = NV_ENC_PARAMS_RC_MODE.CONSTQP, NV_ENC_MULTI_PASS.DISABLED
        self._averageBitrate = self._vbvBufferSize = self._maxBitRate = self._vbvInitialDelay = 0
        self._frameRateNum = self._frameRateDen = 0

    def __repr__(self) -> str:
        return (
            f"Reconfig Params [rateControlMode={int(self.rateControlMode)}, multiPass={int(self.multiPass)}, "
            f"averageBitrate={self.averageBitrate}, vbvBufferSize={self.vbvBufferSize}, maxBitRate={self.maxBitRate}, "
            f"vbvInitialDelay={self.vbvInitialDelay}, "
            f"frameRateDen={self.frameRateDen}, frameRateNum={self.frameRateNum}]"
        )
