# SPDX-License-Identifier: Apache-2.0
"""`python -m tricodec`: the `tricodec` command."""

from __future__ import annotations

import sys

from tricodec.cli import main

sys.exit(main())
