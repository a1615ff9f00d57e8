# SPDX-License-Identifier: Apache-2.0
"""Sizes on the command line: height before width, as everywhere in tricodec."""

from __future__ import annotations

import argparse


def parse_size(text: str) -> tuple[int, int]:
    """(height, width) of "720x1280"; an argparse type."""
    height, separator, width = text.lower().partition("x")
    if not (separator and height.isdecimal() and width.isdecimal() and int(height) > 0 and int(width) > 0):
        message = f"{text!r} is not a size; write HEIGHTxWIDTH, such as 720x1280"
        raise argparse.ArgumentTypeError(message)
    return int(height), int(width)
