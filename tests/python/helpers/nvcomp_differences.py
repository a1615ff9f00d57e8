# SPDX-License-Identifier: Apache-2.0
"""The names of NVIDIA's nvidia.nvcomp that tricodec does not have, and why: a table of docs/migration/nvcomp.md.

`python nvcomp_differences.py` writes the table. test_nvcomp_names.py compares it with NVIDIA's packages.
"""

from __future__ import annotations

from pathlib import Path

_BEGIN = "<!-- differences of names: written by tests/python/helpers/nvcomp_differences.py -->\n"
_END = "<!-- end of differences of names -->\n"

_CASCADED_6 = "Cascaded of 6.0 is a stream that is not public, and not that of 5.3, which is here"

DIFFERENCES: dict[str, tuple[str, str]] = {
    "CascadedMode": ("6.0", _CASCADED_6),
    "ASYMMETRIC": ("6.0", "a value of CascadedMode"),
    "SYMMETRIC": ("6.0", "a value of CascadedMode"),
    "CascadedTerminalCodec": ("6.0", _CASCADED_6),
    "CASCADED_BITPACK": ("6.0", "a value of CascadedTerminalCodec"),
    "UNSPECIFIED": ("6.0", "a value of CascadedTerminalCodec"),
    "CascadedFineGrainedEncoding": ("6.0", _CASCADED_6),
    "DELTA": ("6.0", "a value of CascadedFineGrainedEncoding"),
    "RLE": ("6.0", "a value of CascadedFineGrainedEncoding"),
    "FOR": ("6.0", "a value of CascadedFineGrainedEncoding"),
    "CascadedCoarseGrainedEncoding": ("6.0", _CASCADED_6),
    "NONE": ("6.0", "a value of CascadedCoarseGrainedEncoding"),
    "Codec(compression_level=)": ("6.0", "refused with `UnsupportedError`: an option of Cascaded of 6.0"),
    "Codec(terminal_codecs=)": ("6.0", "refused with `UnsupportedError`: an option of Cascaded of 6.0"),
    "Codec(fine_grained_encodings=)": ("6.0", "refused with `UnsupportedError`: an option of Cascaded of 6.0"),
    "Codec(coarse_grained_encodings=)": ("6.0", "refused with `UnsupportedError`: an option of Cascaded of 6.0"),
}
"""By name: the releases of nvCOMP that have it, and the reason why tricodec differs."""


def table() -> str:
    """The block of the document, with its markers."""
    rows = [f"| `{name}` | {releases} | {reason} |\n" for name, (releases, reason) in DIFFERENCES.items()]
    return _BEGIN + "| name | nvCOMP | tricodec |\n|---|---|---|\n" + "".join(rows) + _END


def main() -> None:
    """Writes the block."""
    document = Path(__file__).parents[3] / "docs" / "migration" / "nvcomp.md"
    text = document.read_text()
    start, end = text.index(_BEGIN), text.index(_END) + len(_END)
    document.write_text(text[:start] + table() + text[end:])


if __name__ == "__main__":
    main()
