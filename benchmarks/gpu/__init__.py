# SPDX-License-Identifier: Apache-2.0
"""The GPU engine against its own decoders, PyNvVideoCodec and DALI."""
