# SPDX-License-Identifier: Apache-2.0
"""The model `text_detector`: frames in, how much text each one shows and its label out.

It is the last step of the ensemble `video_text`, and the pattern for a network of your own. It looks at frames that a
worker of the first step has decoded, so it works in the stub itself.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt
import triton_python_backend_utils as pb_utils
from tricodec.triton_backend.models.text_network import IN_PACKAGE, THRESHOLD, TextNetwork, labels
from tricodec.triton_backend.runtime.guard import check_stub
from tricodec.triton_backend.runtime.inline import answer
from tricodec.triton_backend.runtime.rows import Table, number, options

THRESHOLD_OPTION: Table = {"THRESHOLD": ("threshold", number)}


class TritonPythonModel:
    """What Triton calls."""

    def initialize(self, args: dict[str, str]) -> None:
        """Loads the network.

        Raises:
            RuntimeError: tensors do not arrive as they were sent.
            ImportError: a package is not installed.
            ValueError: a parameter is not accepted.
        """
        check_stub(pb_utils)
        self._network = network_of(json.loads(args["model_config"]))
        pb_utils.Logger.log_info(f"{args['model_name']}: the network is loaded")

    def execute(self, requests: list[Any]) -> list[Any]:
        """Answers each request with its outputs or an error."""
        return [answer(request, self._outputs) for request in requests]

    def _outputs(self, request: Any) -> dict[str, npt.NDArray[Any]]:
        clips = pb_utils.get_input_tensor_by_name(request, "FRAMES").as_numpy()
        threshold = pb_utils.get_input_tensor_by_name(request, "THRESHOLD")
        tensors = {} if threshold is None else {"THRESHOLD": threshold.as_numpy()}
        shares = np.stack([self._network.text_shares(frames) for frames in clips])
        names = [
            labels(row, options(THRESHOLD_OPTION, tensors, index).get("threshold", THRESHOLD))
            for index, row in enumerate(shares)
        ]
        return {"TEXT_SHARES": shares, "LABELS": np.stack(names)}


def network_of(config: dict[str, Any]) -> TextNetwork:
    """The network that a configuration names by its parameters `network`, `threads` and `batch_size`.

    Raises:
        ImportError: a package is not installed.
        ValueError: a parameter is not accepted.
    """
    values = {"network": IN_PACKAGE, "threads": "0", "batch_size": "4"}
    for name, parameter in config.get("parameters", {}).items():
        if name.isupper():
            continue  # Triton's own
        if name not in values:
            raise ValueError(f"unknown parameter {name!r} in config.pbtxt; accepted: {', '.join(values)}")
        values[name] = parameter["string_value"]
    for name, least in (("threads", 0), ("batch_size", 1)):
        if not values[name].isdigit() or int(values[name]) < least:
            raise ValueError(f"parameter {name} is {values[name]!r}; expected a whole number of at least {least}")
    return TextNetwork(values["network"], int(values["threads"]), int(values["batch_size"]))
