# SPDX-License-Identifier: Apache-2.0
"""The Parquet file of an index: its columns, and how it is written and opened."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tricodec._tricodec import OutputFile
from tricodec.errors import Error
from tricodec.show import needed

#: The key of an index's facts in the metadata of its Parquet file, and the version of the columns.
_METADATA_KEY = b"tricodec.index"
_FORMAT = 4
#: A reader of one row reads the group of rows that holds it, so groups are small.
_MOST_ROWS = 1024
_MOST_INDEX_BYTES = 4 << 20

#: Statuses of videos that can be read.
READABLE = ("ok", "damaged", "cut")

_COLUMNS: dict[str, str] = {
    # which video
    "path": "string", "file": "string", "file_offset": "int64", "sample": "string",
    "size_bytes": "int64", "mtime_ns": "int64", "etag": "string", "checksum": "string",
    # the state in which it was found
    "status": "string", "error": "string", "num_damaged_packets": "int64", "read": "string",
    "tricodec_version": "string",
    # its stream
    "container": "string", "stream_index": "int32", "codec": "string", "profile": "string", "level": "int32",
    "width": "int32", "height": "int32", "sample_aspect_ratio": "string", "rotation": "int32", "mirrored": "bool",
    "pixel_format": "string", "color_matrix": "string", "color_range": "string", "color_primaries": "string",
    "color_transfer": "string", "interlaced": "bool", "gpu_refusal": "string",
    "audio_codec": "string", "audio_sample_rate": "int32", "audio_channels": "int32",
    # its frames
    "time_base_num": "int64", "time_base_den": "int64", "num_frames": "int64", "fps": "double",
    "start_seconds": "double", "duration_seconds": "double", "max_drift_seconds": "double", "num_times_back": "int64",
    # its bytes
    "gop_first_frame": "int64s", "gop_num_frames": "int64s", "gop_offset": "int64s", "gop_size_bytes": "int64s",
    "gop_open": "bools", "index": "large_binary",
}  # fmt: skip


class NotAnIndexError(Error, ValueError):
    """The file is not an index, or is an index of another version of tricodec."""


def arrow() -> Any:
    """Returns the module pyarrow."""
    return needed("pyarrow", "tricodec[data]", "indexes of videos")


def schema() -> Any:
    """The columns, a pyarrow.Schema."""
    pa = arrow()
    types = {"int64s": pa.list_(pa.int64()), "bools": pa.list_(pa.bool_())}
    return pa.schema([(name, types.get(kind) or pa.type_for_alias(kind)) for name, kind in _COLUMNS.items()])


def write_index(path: Path, table: Any, root: str) -> None:
    """Writes rows. The file gets its name when it is complete."""
    pa = arrow()
    import pyarrow.parquet as pq

    table = table.replace_schema_metadata({_METADATA_KEY: json.dumps({"format": _FORMAT, "root": root})})
    with OutputFile(path) as file:
        sink = pa.PythonFile(SimpleNamespace(write=file.write, closed=False), mode="w")  # the file stays open
        with pq.ParquetWriter(sink, table.schema, compression="zstd", use_dictionary=True) as writer:
            for start, end in _groups(table):
                writer.write_table(table.slice(start, end - start), row_group_size=_MOST_ROWS)
            if table.num_rows == 0:
                writer.write_table(table)


def open_index(path: Path) -> tuple[Any, str]:
    """Returns the pyarrow.parquet.ParquetFile of an index, and its root."""
    pa = arrow()
    import pyarrow.parquet as pq

    if not path.exists():
        text = "there is no index of videos here; `tricodec index FOLDER -o INDEX` writes one"
        raise FileNotFoundError(errno.ENOENT, text, str(path))
    try:
        file = pq.ParquetFile(path, memory_map=False)
        facts = json.loads((file.schema_arrow.metadata or {})[_METADATA_KEY])
    except (pa.ArrowInvalid, KeyError, ValueError) as error:
        raise NotAnIndexError(f"'{path}' is not an index of videos; tricodec index writes one ({error})") from error
    if facts.get("format") != _FORMAT:
        raise NotAnIndexError(
            f"'{path}' is an index of another version of tricodec (format {facts.get('format')}; this one reads "
            f"{_FORMAT}); remove it and write it again"
        )
    return file, str(facts["root"])


def _groups(table: Any) -> Iterator[tuple[int, int]]:
    """The first row and the end of each row group."""
    import pyarrow.compute as pc

    sizes = pc.fill_null(pc.binary_length(table["index"]), 0).to_pylist()
    start = held = 0
    for row, size in enumerate(sizes):
        if row > start and (row - start == _MOST_ROWS or held + size > _MOST_INDEX_BYTES):
            yield start, row
            start, held = row, 0
        held += size
    if start < len(sizes):
        yield start, len(sizes)
