# SPDX-License-Identifier: Apache-2.0
"""The columns of an index."""

from __future__ import annotations

from typing import Any

from tricodec.errors import Error

#: The key of an index's facts in the metadata of its Parquet file, and the version of the columns.
METADATA_KEY = b"tricodec.index"
FORMAT = 3

#: Statuses of videos that can be read.
READABLE = ("ok", "damaged", "cut")

_COLUMNS: dict[str, str] = {
    # which video
    "path": "string", "file": "string", "file_offset": "int64", "sample": "string",
    "size_bytes": "int64", "mtime_ns": "int64", "etag": "string", "checksum": "string",
    # the state in which it was found
    "status": "string", "error": "string", "num_damaged_packets": "int64", "damage": "list",
    "read": "string", "bytes_read": "int64", "tricodec_version": "string",
    # its stream
    "container": "string", "stream_index": "int32", "codec": "string", "profile": "string", "level": "int32",
    "width": "int32", "height": "int32", "sample_aspect_ratio": "string", "rotation": "int32", "mirrored": "bool",
    "pixel_format": "string", "color_matrix": "string", "color_range": "string", "color_primaries": "string",
    "color_transfer": "string", "interlaced": "bool", "gpu_refusal": "string",
    "audio_codec": "string", "audio_sample_rate": "int32", "audio_channels": "int32",
    # its frames
    "time_base_num": "int64", "time_base_den": "int64", "num_frames": "int64", "fps": "double",
    "start_seconds": "double", "duration_seconds": "double", "stated_duration_seconds": "double",
    "max_drift_seconds": "double", "num_times_back": "int64",
    # its bytes
    "gop_first_frame": "int64s", "gop_num_frames": "int64s", "gop_offset": "int64s", "gop_size_bytes": "int64s",
    "gop_open": "bools", "index": "binary",
}  # fmt: skip


def arrow() -> Any:
    """Returns the module pyarrow.

    Raises:
        ImportError: it is not installed; the text names the extra.
    """
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(f"an index needs pyarrow: pip install 'tricodec[dataset]' ({error})") from error
    return pyarrow


def schema() -> Any:
    """The columns, a pyarrow.Schema."""
    pa = arrow()
    types = {
        "string": pa.string(), "int64": pa.int64(), "int32": pa.int32(), "double": pa.float64(), "bool": pa.bool_(),
        "list": pa.list_(pa.string()), "int64s": pa.list_(pa.int64()), "bools": pa.list_(pa.bool_()),
        "binary": pa.large_binary(),
    }  # fmt: skip
    return pa.schema([(name, types[kind]) for name, kind in _COLUMNS.items()])


class NotAnIndexError(Error, ValueError):
    """A file that is no index of this version."""
