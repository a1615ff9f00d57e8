# SPDX-License-Identifier: Apache-2.0
"""The models that NVIDIA Triton's Python backend runs (docs/reference/triton.md).

A model's `1/model.py` imports its class from `models`. `runtime` is what they all run on. Bytes that clients send are
decoded in child processes of the backend's stub: a crash or a hang there costs one request. In the stub it would cost
the model.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path

_MODELS = frozenset(
    "compress dali_pipeline decompress frame_histograms video_decode video_encode video_stream video_transcode".split()
)


class _FormerNames(MetaPathFinder):
    """Finds the models where version 0.1 had them: users' copies of a `model.py` import from there."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        """See MetaPathFinder."""
        del path, target
        package, _, name = fullname.rpartition(".")
        if package != __name__ or name not in _MODELS:
            return None
        text = f"{fullname} is now {__name__}.models.{name}; the old name goes with the next minor version"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return spec_from_file_location(fullname, Path(__file__).parent / "models" / f"{name}.py")


sys.meta_path.append(_FormerNames())
