# SPDX-License-Identifier: Apache-2.0
"""Videos in object stores and on web servers, read by planned ranges of bytes.

`remote(url)` makes a source for every `source` argument: `FrameReader`, `decode_video`, `Demuxer`, `probe`,
`transcode`, `tricodec.io`. A plain URL stays refused, so that a file or a request can never make tricodec open one.
"""

from __future__ import annotations

from tricodec._public import public_names
from tricodec._remote._source import RemoteFile, RemoteSource, RemoteStats, remote
from tricodec._remote._stores import is_remote_url

__all__ = ["RemoteFile", "RemoteSource", "RemoteStats", "is_remote_url", "remote"]
__dir__ = public_names(globals())
