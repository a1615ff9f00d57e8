# SPDX-License-Identifier: Apache-2.0
"""The Parquet file of an index."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tricodec._dataset._columns import FORMAT, METADATA_KEY, NotAnIndexError, arrow, schema
from tricodec._output_files import OutputStream
from tricodec._tricodec import OutputFile

#: A reader of one row reads the group of rows that it is in.
_MOST_ROWS = 1024
_MOST_INDEX_BYTES = 4 << 20


def write_index(path: Path, table: Any, root: str) -> None:
    """Writes rows. The file has its name when it is complete."""
    pa = arrow()
    import pyarrow.parquet as pq

    facts = json.dumps({"format": FORMAT, "root": root})
    table = table.replace_schema_metadata({METADATA_KEY: facts})
    with OutputFile(path) as file:
        sink = pa.PythonFile(OutputStream(file), mode="w")
        with pq.ParquetWriter(sink, table.schema, compression="zstd", use_dictionary=True) as writer:
            for start, end in _groups(table):
                writer.write_table(table.slice(start, end - start), row_group_size=_MOST_ROWS)
            if table.num_rows == 0:
                writer.write_table(table)


def open_index(path: Path) -> tuple[Any, str]:
    """The pyarrow.parquet.ParquetFile of an index, and its root.

    Raises:
        FileNotFoundError: there is no such file.
        NotAnIndexError: it is another file, or of another version.
    """
    pa = arrow()
    import pyarrow.parquet as pq

    if not path.exists():
        text = "there is no index of videos here; `tricodec index FOLDER -o INDEX` writes one"
        raise FileNotFoundError(errno.ENOENT, text, str(path))
    try:
        file = pq.ParquetFile(path, memory_map=False)
        facts = json.loads((file.schema_arrow.metadata or {})[METADATA_KEY])
    except (pa.ArrowInvalid, KeyError, ValueError) as error:
        raise NotAnIndexError(f"'{path}' is not an index of videos; tricodec index writes one ({error})") from error
    missing = [name for name in schema().names if name not in file.schema_arrow.names]
    if facts.get("format") != FORMAT or missing:
        raise NotAnIndexError(
            f"'{path}' is an index of another version of tricodec (format {facts.get('format')}; this one reads "
            f"{FORMAT}); write it again under another name"
        )
    return file, str(facts.get("root", ""))


def _groups(table: Any) -> Iterator[tuple[int, int]]:
    """Ranges of rows."""
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
