# SPDX-License-Identifier: Apache-2.0
"""Decode statistics: quantizer, type and motion vectors of each 16x16 block, in the layout of the original."""

from __future__ import annotations

import numpy as np

#: The header: flags, the number of blocks, and reserved words. All integers are little-endian.
_HEADER = np.dtype([("flags", "<u4"), ("num_blocks", "<u4"), ("reserved", "<u4", 6)])
_BLOCK = np.dtype(
    [("qp_luma", "u1"), ("type", "u1"), ("reserved", "<u2"), ("mv0_x", "<i2"), ("mv0_y", "<i2"), ("mv1_x", "<i2"),
     ("mv1_y", "<i2")]
)  # fmt: skip
_PRESENT, _HAS_SECOND_VECTORS = 1, 2
_NAMES = ("qp_luma", "cu_type", "mv0_x", "mv0_y", "mv1_x", "mv1_y")

Statistics = dict[str, list[int]] | dict[str, None]


def parse(raw: bytes | None) -> Statistics:
    """The statistics of a picture as lists, one entry a block, row by row.

    Args:
        raw: the statistics in their layout; empty if the decoder cannot give them, None if they were not requested.

    Returns:
        ``qp_luma``, ``cu_type``, ``mv0_x``, ``mv0_y``, ``mv1_x`` and ``mv1_y``: lists, which are empty if nothing was
        requested. Each is None if the decoder cannot give it.
    """
    lists: dict[str, list[int]] = {name: [] for name in _NAMES}
    if raw is None:
        return lists
    if len(raw) < _HEADER.itemsize:
        return dict.fromkeys(_NAMES)
    header = np.frombuffer(raw, _HEADER, 1)[0]
    room = (len(raw) - _HEADER.itemsize) // _BLOCK.itemsize
    if not header["flags"] & _PRESENT or header["num_blocks"] > room:
        return dict.fromkeys(_NAMES)
    blocks = np.frombuffer(raw, _BLOCK, int(header["num_blocks"]), _HEADER.itemsize)
    known = _NAMES if header["flags"] & _HAS_SECOND_VECTORS else _NAMES[:4]
    for name in known:
        lists[name] = (blocks["type"] >> 1 & 7 if name == "cu_type" else blocks[name]).tolist()
    return lists
