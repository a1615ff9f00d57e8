# SPDX-License-Identifier: Apache-2.0
"""What a Plan consists of, as plain data: the request, the machine, the choices, and their file."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from tricodec._tricodec import OutputFile, Transform, build_info, gpu_facts, resolve_device
from tricodec.errors import CorruptDataError, UnsupportedError
from tricodec.options import replaced
from tricodec.video.cores import num_cores, processor

_FORMAT = "tricodec plan"
_VERSION = 2
_LIBRARIES = ("tricodec", "libavformat", "libavcodec", "libavutil")


@dataclasses.dataclass(frozen=True, slots=True)
class PlanRequest:
    """What a plan reads: the arguments of `Plan`. A number of 0 was left to the plan."""

    device: str = "auto"
    stream_index: int = -1
    ignore_edit_list: bool = False
    workers: int = 0
    num_workers: int = 0
    batch_size: int = 0
    transform: dict[str, Any] = dataclasses.field(default_factory=dict)
    """Options of `Transform` that differ from its defaults."""
    selection: dict[str, Any] = dataclasses.field(default_factory=dict)
    """Options of `decode_video` that select frames, as JSON values."""

    def selected(self, **others: Any) -> dict[str, Any]:
        """The options of `decode_video` that select the frames; `others` replace them."""
        return replaced(self.selection, others)


@dataclasses.dataclass(frozen=True, slots=True)
class PlanChoices:
    """How a plan does its request. Choices decide the speed, never the result."""

    engine: str
    """What decodes the sample: "libavcodec h264", "nvdec h264"."""
    instruction_set: str
    """What transforms its frames: "highway AVX2", "cuda 9.0"."""
    workers: int
    """Reads at a time: the threads of a `WorkerPool`."""
    num_workers: int
    """Decoders of one read; 0 lets each read choose."""
    batch_size: int
    """Frames of a batch of `PlanContext.batches`."""
    frame_shape: tuple[int, ...]
    """Shape of a frame of the sample after the transform."""
    frame_bytes: int
    """Bytes of such a frame."""


@dataclasses.dataclass(frozen=True, slots=True)
class PlanMeasurement:
    """What tuning measured of one candidate."""

    workers: int
    """Reads at a time."""
    num_workers: int
    """Decoders of one read."""
    batch_size: int
    """Frames of a batch; 0 for whole reads."""
    seconds: float
    """The shortest time in seconds: of a read, or of a frame of a batch. Reads at a time share it."""


@dataclasses.dataclass(frozen=True, slots=True)
class PlanData:
    """All of a plan."""

    request: PlanRequest
    sample: str
    machine: dict[str, str]
    choices: PlanChoices
    tuned: str = ""
    measurements: tuple[PlanMeasurement, ...] = ()


def changed_options(transform: Transform) -> dict[str, Any]:
    """The options of a Transform that differ from the defaults, as JSON values."""
    defaults = Transform().options
    changed = {name: value for name, value in transform.options.items() if value != defaults[name]}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in changed.items()}


def machine_of(device: str) -> dict[str, str]:
    """What decides how fast a request is done here: versions, the processor, the device."""
    build = dict(line.split(": ", 1) for line in build_info().splitlines())
    facts = {name: build[name] for name in _LIBRARIES if name in build}
    device = resolve_device(device)
    facts |= {
        "cpu": processor(),
        "cores": str(num_cores()),
        "device": device.partition(":")[0],
        "instruction_set": build["image_engine"],
    }
    if device != "cpu":
        facts |= gpu_facts(int(device.partition(":")[2]))
        facts["instruction_set"] = f"cuda {facts['compute_capability']}"
    return facts


def differences(then: dict[str, str], now: dict[str, str]) -> list[str]:
    """The fields in which two machines differ, each with both values."""
    return [
        f"{name} is {then.get(name, 'absent')!r} in the plan and {now.get(name, 'absent')!r} here"
        for name in dict.fromkeys((*then, *now))
        if then.get(name) != now.get(name)
    ]


def write_plan(path: str | os.PathLike[str], data: PlanData) -> None:
    """Writes a plan's file, whole or not at all."""
    values = {"format": _FORMAT, "version": _VERSION, **dataclasses.asdict(data)}
    values["checksum"] = _checksum(values)
    with OutputFile(path) as file:
        file.write(json.dumps(values, indent=2).encode() + b"\n")


def read_plan(path: str | os.PathLike[str]) -> PlanData:
    """Reads a plan's file, with the errors of `Plan.load`."""
    name = os.fspath(path)
    try:
        values = json.loads(Path(path).read_bytes())
        if values["format"] != _FORMAT:
            raise ValueError(f"its format is {values['format']!r}")
    except (ValueError, TypeError, KeyError) as error:
        raise CorruptDataError(f"{name!r} is not a plan of tricodec; pass a file that Plan.save wrote") from error
    if values.get("version") != _VERSION:
        raise UnsupportedError(
            f"the plan {name!r} has the file version {values.get('version')!r}, and this tricodec reads {_VERSION}; "
            "make the plan again"
        )
    if values.pop("checksum", None) != _checksum(values):
        raise CorruptDataError(f"the plan {name!r} was changed after it was saved: its checksum differs; save it again")
    return PlanData(
        request=PlanRequest(**values["request"]),
        sample=values["sample"],
        machine=values["machine"],
        choices=PlanChoices(**{**values["choices"], "frame_shape": tuple(values["choices"]["frame_shape"])}),
        tuned=values["tuned"],
        measurements=tuple(PlanMeasurement(**measured) for measured in values["measurements"]),
    )


def _checksum(values: dict[str, Any]) -> str:
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
