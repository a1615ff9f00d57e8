# SPDX-License-Identifier: Apache-2.0
"""``nvidia.nvcomp`` of the distribution tricodec-nvcomp: `tricodec.nvcomp`. Not NVIDIA's package."""

from tricodec import nvcomp as _ours
from tricodec.nvcomp import *  # noqa: F403
from tricodec.nvcomp import __all__, __cuda_version__, __version__  # noqa: F401

__doc__ = _ours.__doc__
__tricodec__ = True
__dir__ = _ours.__dir__
