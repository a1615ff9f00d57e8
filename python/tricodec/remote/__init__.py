# SPDX-License-Identifier: Apache-2.0
"""Videos in object stores and on web servers, read by planned ranges of bytes.

`open_remote(url)` makes a source for every `source` argument: `FrameReader`, `decode_video`, `Demuxer`, `probe`,
`transcode`, `tricodec.io`. A plain URL stays refused, so that a file or a request can never make tricodec open one.
"""

from tricodec.remote._source import RemoteFile, RemoteSource, RemoteStats, open_remote
from tricodec.remote._stores import is_remote_url

__all__ = ["RemoteFile", "RemoteSource", "RemoteStats", "is_remote_url", "open_remote"]
