# SPDX-License-Identifier: Apache-2.0
"""How things show themselves: pictures by Pillow, tables and progress bars by rich, in notebooks and terminals.

Both packages are imported at their first use.
"""

from __future__ import annotations
