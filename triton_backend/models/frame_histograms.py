# SPDX-License-Identifier: Apache-2.0
"""The model `frame_histograms`: frames in, where cuts are and what colors the clip has out.

It is the last step of the ensemble `video_scenes`, and looks at frames that a worker of the first step has decoded:
nothing here parses what clients send, so it works in the stub itself. All that is counted is whole numbers, so the
answers are the same bits on every machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import triton_python_backend_utils as pb_utils
from tricodec.scenes import NUM_BINS, cut_scores, histograms
from tricodec.triton_backend.runtime.guard import check_stub
from tricodec.triton_backend.runtime.inline import answer, thresholds

_THRESHOLD = 0.5


class TritonPythonModel:
    """What Triton calls."""

    def initialize(self, args: dict[str, str]) -> None:
        """Raises RuntimeError if tensors do not arrive as they were sent."""
        check_stub(pb_utils)
        pb_utils.Logger.log_info(f"{args['model_name']}: {NUM_BINS} bins")

    def execute(self, requests: list[Any]) -> list[Any]:
        """Answers each request with its outputs or an error."""
        return [answer(request, _outputs) for request in requests]


def _outputs(request: Any) -> dict[str, npt.NDArray[Any]]:
    batch = pb_utils.get_input_tensor_by_name(request, "FRAMES").as_numpy()
    least = thresholds(request, len(batch), _THRESHOLD)
    clips = [histograms(frames) for frames in batch]
    scores = np.stack([cut_scores(counts) for counts in clips])
    return {
        "CUT_SCORES": scores,
        "CUTS": scores >= least[:, np.newaxis],
        "EMBEDDING": np.stack([embedding(counts) for counts in clips]),
    }


def embedding(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
    """A vector of length 1 for the colors of a clip; the dot product of two is their Bhattacharyya coefficient.

    Args:
        counts: int64, [F, NUM_BINS].

    Returns:
        float32, [NUM_BINS]: the square root of each color's part of all pixels; zeros where there are no pixels.
    """
    whole = counts.sum(axis=0)
    return np.sqrt(whole / max(1, int(whole.sum()))).astype(np.float32)
