# SPDX-License-Identifier: Apache-2.0
"""`python -m tricodec.cli`."""

from __future__ import annotations

import sys

from tricodec.cli.command import main

sys.exit(main())
