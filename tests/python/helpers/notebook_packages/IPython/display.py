# SPDX-License-Identifier: Apache-2.0
"""Shows nothing."""


def clear_output(wait: bool) -> None:
    """Nothing was shown."""
