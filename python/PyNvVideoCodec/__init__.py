# SPDX-License-Identifier: Apache-2.0
"""The documented names of PyNvVideoCodec over tricodec: ``import PyNvVideoCodec as nvc``.

Programs written for the original demux and decode here unchanged, with or without a GPU::

    import PyNvVideoCodec as nvc

    demuxer = nvc.CreateDemuxer("video.mp4")
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId())
    for packet in demuxer:
        for frame in decoder.Decode(packet):
            ...

``docs/migration/pynvvideocodec.md`` lists what is covered and what differs. This package contains no code of the
original.
"""

from __future__ import annotations

from . import _PyNvVideoCodec
from ._calls import logger, release, set_api_version
from ._encoder import CreateEncoder
from ._encoder_options import format_optional_params, tostring
from ._enums import Codec
from ._PyNvVideoCodec import *  # noqa: F403  (that module lists the names)

#: The release of the original that this package follows; tricodec's own version is ``tricodec.__version__``.
__version__ = release()
__author__ = __maintainer__ = __credits__ = "the tricodec authors"
__license__ = "Apache-2.0"
__copyright__ = "the tricodec authors"
__email__ = ""
__status__ = "Alpha"

__all__ = [
    "Codec", "CreateEncoder", "_PyNvVideoCodec", "format_optional_params", "logger", "set_api_version", "tostring",
]  # fmt: skip
__all__ += _PyNvVideoCodec.__all__


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
