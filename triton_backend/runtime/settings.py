# SPDX-License-Identifier: Apache-2.0
"""The parameters of a model's configuration (`parameters { ... }` in config.pbtxt)."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

import tricodec
from tricodec.video.cores import num_cores


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a model. docs/reference/triton.md describes them; the defaults are those of config.pbtxt too."""

    workers: int = 0
    threads: int = 0
    device: str = "auto"
    max_queue: int = 256
    timeout_ms: int = 30_000
    max_width: int = 8192
    max_height: int = 8192
    max_frames: int = 10_000
    max_input_bytes: int = 268_435_456
    max_output_bytes: int = 1_073_741_824
    trusted: str = "false"
    strict_plan: str = "true"
    allow_remote: str = ""
    max_stall_ms: int = 600_000
    max_sessions: int = 64
    max_sessions_bytes: int = 1_073_741_824
    max_idle_ms: int = 60_000
    network: str = "package"
    batch_size: int = 4

    @property
    def on_gpu(self) -> bool:
        """Whether a GPU may decode; known once the instance is."""
        return self.device not in ("cpu", "auto")

    @property
    def remote_prefixes(self) -> tuple[str, ...]:
        """The prefixes of `allow_remote`."""
        return tuple(self.allow_remote.split())

    @property
    def num_workers(self) -> int:
        """`workers`, decided."""
        return self.workers or (_GPU_WORKERS if self.on_gpu else min(num_cores(), _MOST_WORKERS))

    def for_instance(self, kind: str, device_id: int) -> Settings:
        """The settings with `device` decided for one instance of the model, a "CPU" or a "GPU" with a number."""
        device = self.device
        if kind == "GPU":
            if device in ("auto", "cuda"):
                device = f"{device}:{device_id}"
            if device not in (f"auto:{device_id}", f"cuda:{device_id}"):
                raise ValueError(
                    f"parameter device is {self.device!r}, but this instance is of GPU {device_id} (KIND_GPU); leave "
                    "it at 'auto', or change instance_group"
                )
        elif device == "auto":
            device = "cpu"
        return dataclasses.replace(self, device=device)

    def check_input(self, num_bytes: int, name: str) -> None:
        """Raises ValueError for an input of more bytes than the model accepts."""
        if num_bytes > self.max_input_bytes:
            raise ValueError(
                f"{name} has {num_bytes} bytes, and this model accepts at most {self.max_input_bytes} (its parameter "
                "max_input_bytes)"
            )

    def check_output(self, num_bytes: int, what: str, remedy: str = "") -> None:
        """Raises tricodec.RefusedError for an answer of more bytes than the model gives: "the frames take ..."."""
        if num_bytes > self.max_output_bytes:
            raise tricodec.RefusedError(
                f"{what} {num_bytes} bytes, and this model gives at most {self.max_output_bytes} an answer (its "
                f"parameter max_output_bytes){remedy and '; '}{remedy}"
            )

    @property
    def limits(self) -> dict[str, int]:
        """Arguments for tricodec.set_limits."""
        return {
            "max_width": self.max_width,
            "max_height": self.max_height,
            "max_pixels": self.max_width * self.max_height,
            "max_output_bytes": self.max_output_bytes,
        }


COMMON_PARAMETERS = (
    "workers", "threads", "device", "max_queue", "timeout_ms", "max_input_bytes", "max_output_bytes",
)  # fmt: skip
"""What every model takes."""
VIDEO_PARAMETERS = (*COMMON_PARAMETERS, "max_width", "max_height", "max_frames")
"""What models of videos take."""
SOURCE_PARAMETERS = (*VIDEO_PARAMETERS, "allow_remote")
"""What models of encoded videos take."""
CODEC_PARAMETERS = (*COMMON_PARAMETERS, "trusted")
"""What `compress` and `decompress` take."""
NETWORK_PARAMETERS = ("network", "threads", "batch_size", "device")
"""What models that run a network in the stub itself take."""

_GPU_WORKERS = 16
_MOST_WORKERS = 48
"""A node takes a few more requests at a time of one model."""
_MAY_BE_ZERO = ("workers", "threads")
_CHOICES = {"trusted": ("true", "false"), "strict_plan": ("true", "false")}


def parse_settings(model_config: Mapping[str, Any], accepted: Collection[str]) -> Settings:
    """Reads the parameters of a model's configuration. Those in capitals are Triton's and stay.

    Raises:
        ValueError: naming the parameter that is none of `accepted`, or has no acceptable value.
    """
    fields = {field.name: field.default for field in dataclasses.fields(Settings) if field.name in accepted}
    values: dict[str, Any] = {}
    for name, parameter in model_config.get("parameters", {}).items():
        if name.isupper():
            continue
        if name not in fields:
            raise ValueError(f"unknown parameter {name!r} in config.pbtxt; accepted: {', '.join(fields)}")
        text = parameter["string_value"]
        values[name] = text if isinstance(fields[name], str) else _whole_number(name, text)
    settings = Settings(**values)
    for name, choices in _CHOICES.items():
        if getattr(settings, name) not in choices:
            raise ValueError(f"parameter {name} is {getattr(settings, name)!r}; accepted: {', '.join(choices)}")
    for prefix in settings.remote_prefixes:
        tricodec.open_remote(prefix, allowed_prefixes=[prefix])  # raises ValueError for one that is none
    return settings


def has_queue_policy(model_config: Mapping[str, Any]) -> bool:
    """Whether Triton's queue of a model has limits of its own: a size, timeouts, or priorities."""
    batching = model_config.get("dynamic_batching", {})
    policy = batching.get("default_queue_policy", {})
    limits = ("max_queue_size", "default_timeout_microseconds", "allow_timeout_override")
    # Triton writes 64-bit numbers as text.
    values = [batching.get("priority_levels", 0), *(policy.get(name, 0) for name in limits)]
    return any(str(value) not in ("0", "False") for value in values)


def _whole_number(name: str, text: str) -> int:
    least = 0 if name in _MAY_BE_ZERO else 1
    value = int(text) if text.isdecimal() else -1
    if value < least:
        raise ValueError(f"parameter {name} is {text!r}; expected a whole number of at least {least}")
    return value
