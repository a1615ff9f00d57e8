# SPDX-License-Identifier: Apache-2.0
"""NVIDIA DALI operators of tricodec.

Importing this module registers them; then ``nvidia.dali.fn.tricodec.decode_video`` exists, and in dynamic mode
``nvidia.dali.experimental.dynamic.tricodec.decode_video``. ``help()`` of either documents the arguments.

    import nvidia.dali.fn as fn
    import tricodec.dali

    frames, pts = fn.tricodec.decode_video(encoded, count=16, size=(224, 224))
    frames, pts, label = fn.tricodec.read_video(file_root=root, sequence_length=16, size=(224, 224), name="reader")

The operators are compiled for the installed DALI when tricodec is installed beside it, else when this module is first
imported (some seconds, kept in ``$XDG_CACHE_HOME/tricodec/dali``).
"""

from tricodec.dali._arguments import index_arguments, plan_arguments
from tricodec.dali._plugin import PluginError, build, plugin_path, register

__all__ = ["PluginError", "build", "index_arguments", "plan_arguments", "plugin_path"]

register()
