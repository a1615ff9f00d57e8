# SPDX-License-Identifier: Apache-2.0
"""`python -m tricodec`: the `tricodec` command."""

import sys

from tricodec.cli import main

sys.exit(main())
