# SPDX-License-Identifier: Apache-2.0
"""The names of torchcodec and decord beside the originals: the same program with each."""
