# SPDX-License-Identifier: Apache-2.0
"""The models, and the tasks that their workers do."""
