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
from tricodec.triton_backend.models.text_network import THRESHOLD, TextNetwork, labels
from tricodec.triton_backend.runtime.guard import check_stub
from tricodec.triton_backend.runtime.inline import answer, thresholds
from tricodec.triton_backend.runtime.settings import NETWORK_PARAMETERS, parse_settings


class TritonPythonModel:
    """What Triton calls."""

    def initialize(self, args: dict[str, str]) -> None:
        """Loads the network that the configuration of an instance names.

        Raises:
            RuntimeError: tensors do not arrive as they were sent.
            ImportError: a package is not installed.
            ValueError: a parameter is not accepted.
        """
        check_stub(pb_utils)
        settings = parse_settings(json.loads(args["model_config"]), NETWORK_PARAMETERS).for_instance(
            args["model_instance_kind"], int(args["model_instance_device_id"])
        )
        self._network = TextNetwork(settings)
        pb_utils.Logger.log_info(f"{args['model_name']}: the network is loaded")

    def execute(self, requests: list[Any]) -> list[Any]:
        """Answers each request with its outputs or an error."""
        return [answer(request, self._outputs) for request in requests]

    def _outputs(self, request: Any) -> dict[str, npt.NDArray[Any]]:
        clips = pb_utils.get_input_tensor_by_name(request, "FRAMES").as_numpy()
        least = thresholds(request, len(clips), THRESHOLD)
        shares = np.stack([self._network.text_shares(frames) for frames in clips])
        return {"TEXT_SHARES": shares, "LABELS": labels(shares, least[:, np.newaxis])}
