# SPDX-License-Identifier: Apache-2.0
"""Models that decode as a plan.json beside their configuration says."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import tricodec
from tricodec.triton_backend.runtime.model import Model
from tricodec.triton_backend.runtime.settings import SOURCE_PARAMETERS, Settings

PLAN_NAME = "plan.json"
_FLOAT_ONLY = ("scale", "mean", "std")


@dataclasses.dataclass(frozen=True, slots=True)
class Defaults:
    """What a request for one video means where it does not say.

    Attributes:
        selection: options of tricodec.decode_video that select frames.
        source: fields of a DecodeTask that say what is read.
        transform: options of tricodec.Transform.
    """

    selection: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    source: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    transform: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def transform_to(self, dtype: str) -> dict[str, Any]:
        """The options for frames of a dtype: what normalizes is for floats."""
        left_out = {"dtype", *(_FLOAT_ONLY if dtype == "uint8" else ())}
        return {"dtype": dtype, **{name: value for name, value in self.transform.items() if name not in left_out}}


class PlannedModel(Model):
    """A model with the request of a tricodec.Plan as its defaults, and with the plan's workers and threads.

    Attributes:
        defaults: of the plan; empty without one.
    """

    PARAMETERS: ClassVar[tuple[str, ...]] = (*SOURCE_PARAMETERS, "strict_plan")

    defaults = Defaults()

    def prepare(self, folder: str, settings: Settings) -> Settings:
        """See Model. Parameters that are not 0 replace the plan's choices.

        Raises:
            ValueError: the plan is not one that this instance can follow.
            tricodec.Error: as tricodec.Plan.load.
        """
        path = Path(folder) / PLAN_NAME
        if not path.is_file():
            return settings
        plan = tricodec.Plan.load(path, strict=settings.strict_plan == "true")
        device = settings.device.replace("auto", "cuda").partition(":")[0]
        if plan.machine["device"] != device:
            raise ValueError(
                f"{path} is a plan for the device {plan.machine['device']!r}, and this instance decodes on "
                f"{settings.device!r}; make the plan with device={device!r}, or change instance_group"
            )
        request = plan.request
        source = {"stream_index": request.stream_index, "ignore_edit_list": request.ignore_edit_list}
        self.defaults = Defaults(request.selected(), source, request.transform)
        return dataclasses.replace(
            settings, workers=settings.workers or plan.workers, threads=settings.threads or plan.num_workers
        )
