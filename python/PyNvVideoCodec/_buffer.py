# SPDX-License-Identifier: Apache-2.0
"""The base of classes that export a buffer by a ``__buffer__`` method.

Python has that method since 3.12 (PEP 688); before, only types made in C can export buffers.
"""

from __future__ import annotations

import sys

if sys.version_info >= (3, 12):

    class BufferExporter:
        """Nothing to add: Python itself calls ``__buffer__``."""

        __slots__ = ()

else:
    from tricodec._tricodec import BufferExporter

__all__ = ["BufferExporter"]
