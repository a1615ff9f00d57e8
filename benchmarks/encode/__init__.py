# SPDX-License-Identifier: Apache-2.0
"""Encoding and transcoding against the ffmpeg command line and PyAV."""
