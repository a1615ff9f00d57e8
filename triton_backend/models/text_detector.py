# SPDX-License-Identifier: Apache-2.0
"""The model `text_detector`: frames in, how much text each one shows and its label out.

It is the last step of the ensemble `video_text`, and the pattern for a network of your own. It looks at frames that a
worker of the first step has decoded, so it works in the stub itself.

The network is PP-OCRv4's text detector, an ONNX file in the package rapidocr-onnxruntime. The package itself is not
imported: only onnxruntime works.
"""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import triton_python_backend_utils as pb_utils
from tricodec.triton_backend.runtime.errors import failure_of
from tricodec.triton_backend.runtime.rows import number, options
from tricodec.triton_backend.runtime.settings import NETWORK_PARAMETERS, Settings, parse_settings
from tricodec.triton_backend.runtime.stub import check_stub, failed, tensor
from tricodec.video.cores import num_cores

_LABELS = np.array([b"no text", b"text"], np.object_)
_THRESHOLD = 0.05
"""The part of a picture's pixels from which on it is one with text."""

_INSTALL = "pip install onnxruntime rapidocr-onnxruntime into the environment of Triton's Python models"
_PACKAGE, _FILE = "rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx"
_MULTIPLE = 32
"""Of the height and the width that the network takes."""
_MEAN = np.array([0.485, 0.456, 0.406], np.float32)
_STD = np.array([0.229, 0.224, 0.225], np.float32)
_LEAST_PROBABILITY = 0.3
_ON_GPU = "CUDAExecutionProvider"


class DetectorModel:
    """What Triton calls."""

    def initialize(self, args: dict[str, str]) -> None:
        """Loads the network that the configuration of an instance names."""
        check_stub()
        settings = parse_settings(json.loads(args["model_config"]), NETWORK_PARAMETERS).for_instance(
            args["model_instance_kind"], int(args["model_instance_device_id"])
        )
        self._network = _TextNetwork(settings)
        pb_utils.Logger.log_info(f"{args['model_name']}: the network is loaded")

    def execute(self, requests: list[Any]) -> list[Any]:
        """Answers each request with its outputs or an error."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: Any) -> Any:
        try:
            outputs = self._outputs(request)
        except Exception as error:  # the request's own, whatever it is: an exception here would fail the whole batch
            return failed(failure_of(error))
        wanted = request.requested_output_names()
        return pb_utils.InferenceResponse([tensor(name, array) for name, array in outputs.items() if name in wanted])

    def _outputs(self, request: Any) -> dict[str, npt.NDArray[Any]]:
        clips = pb_utils.get_input_tensor_by_name(request, "FRAMES").as_numpy()
        least = _thresholds(request, len(clips))
        shares = np.stack([self._network.text_shares(frames) for frames in clips])
        return {"TEXT_SHARES": shares, "LABELS": _LABELS[(shares >= least).astype(np.intp)]}


def _thresholds(request: Any, num_rows: int) -> npt.NDArray[np.float32]:
    """The THRESHOLD of each row of a request, [B, 1], a part of a picture's pixels."""
    given = pb_utils.get_input_tensor_by_name(request, "THRESHOLD")
    if given is None:
        return np.full((num_rows, 1), _THRESHOLD, np.float32)
    table, tensors = {"THRESHOLD": ("value", number)}, {"THRESHOLD": given.as_numpy().reshape(num_rows, -1)}
    values = [options(table, tensors, row)["value"] for row in range(num_rows)]
    for value in values:
        if not 0 <= value <= 1:
            raise ValueError(f"THRESHOLD is {value}; accepted are 0 to 1, the part of a picture's pixels")
    return np.array(values, np.float32)[:, np.newaxis]


class _TextNetwork:
    """The network. Thread safety: safe."""

    def __init__(self, settings: Settings) -> None:
        """Loads the network that NETWORK_PARAMETERS of a model name."""
        try:
            import onnxruntime
        except ImportError as error:
            raise ImportError(f"this model runs a network by onnxruntime ({error}); {_INSTALL}") from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = settings.threads or num_cores()
        self._batch_size = settings.batch_size
        path = _packaged() if settings.network == "package" else settings.network
        providers = _providers(onnxruntime, settings.device)
        self._session: Any = onnxruntime.InferenceSession(path, options, providers)
        if settings.device != "cpu" and _ON_GPU not in self._session.get_providers():
            raise ValueError(
                f"parameter device is {settings.device!r}, but onnxruntime {onnxruntime.__version__} finds no such GPU "
                "and runs the network on the CPU; accepted are cpu, and GPUs of this machine (cuda, cuda:N) after "
                "pip install onnxruntime-gpu in place of onnxruntime"
            )
        self._session.disable_fallback()
        self._input = self._session.get_inputs()[0].name

    def text_shares(self, frames: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        """The part of each picture's pixels that belongs to text, [F], of RGB frames [F, H, W, 3]."""
        height, width = frames.shape[1:3]
        shares = np.zeros(len(frames), np.float32)
        for first in range(0, len(frames), self._batch_size):
            batch = frames[first : first + self._batch_size]
            (maps,) = self._session.run(None, {self._input: _prepared(batch)})
            is_text = maps[:, 0, :height, :width] >= _LEAST_PROBABILITY
            shares[first : first + self._batch_size] = is_text.mean(axis=(1, 2))
        return shares


def _prepared(frames: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """What the network takes: normalized, [N, 3, H, W], with zeros at the bottom and the right to a multiple of 32."""
    number, height, width, _ = frames.shape
    padded = (number, 3, -(-height // _MULTIPLE) * _MULTIPLE, -(-width // _MULTIPLE) * _MULTIPLE)
    prepared = np.zeros(padded, np.float32)
    for channel in range(3):  # all channels in one call take three times as long
        inside = prepared[:, channel, :height, :width]
        np.multiply(frames[..., channel], 1 / (255 * _STD[channel]), out=inside, dtype=np.float32)
        inside -= _MEAN[channel] / _STD[channel]
    return prepared


def _providers(onnxruntime: Any, device: str) -> list[Any]:
    """What onnxruntime runs a network by; for a GPU it finds the libraries of NVIDIA's packages first."""
    if device == "cpu":
        return ["CPUExecutionProvider"]
    gpu = re.fullmatch(r"cuda(?::(\d+))?", device)
    if gpu is None:
        raise ValueError(f"parameter device is {device!r}; accepted: cpu, cuda, cuda:N")
    if hasattr(onnxruntime, "preload_dlls"):
        onnxruntime.preload_dlls()
    # Each size of pictures would have its own long search for the fastest algorithm; TF32 has a mantissa of 10 bits.
    return [(_ON_GPU, {"device_id": gpu[1] or "0", "cudnn_conv_algo_search": "HEURISTIC", "use_tf32": "0"})]


def _packaged() -> str:
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or found.origin is None:
        raise ImportError(f"the network of this model is in the package {_PACKAGE}, which is not installed; {_INSTALL}")
    return str(Path(found.origin).parent / _FILE)
