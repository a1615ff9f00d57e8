# SPDX-License-Identifier: Apache-2.0
"""What notebooks, and matplotlib beside it, use of IPython."""

version_info = (9, 0, 0)


def get_ipython() -> None:
    """There is none."""
