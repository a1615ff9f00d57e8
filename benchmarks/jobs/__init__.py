# SPDX-License-Identifier: Apache-2.0
"""What jobs over many files cost."""
