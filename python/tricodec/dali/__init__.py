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

from __future__ import annotations

from pathlib import Path

from tricodec.dali import _load
from tricodec.dali._build import PluginError
from tricodec.dali._index import index_arguments
from tricodec.dali._plan import plan_arguments

__all__ = ["PluginError", "build", "index_arguments", "plan_arguments", "plugin_path"]


def plugin_path() -> Path:
    """The plugin for the installed DALI, compiled first if necessary.

    For programs that load plugins without importing ``tricodec``: ``DALI_PRELOAD_PLUGINS`` and the ``plugin_libs``
    option of Triton's DALI backend. It loads the library and the operators, which lie beside it, in the order that is
    safe. In a process that has them, importing ``tricodec.dali`` does not load them again.

    Raises:
        PluginError: if there is none for this DALI and it cannot be compiled here.
    """
    return _load.plugin_path()


def build() -> Path:
    """Compile the plugin for the installed DALI into the cache, even if one exists.

    A process that has the operators loaded keeps them; the new ones are for later processes.

    Returns:
        The path that plugin_path() returns if the cache is used.

    Raises:
        PluginError: if there is no compiler, CUDA's headers are missing, or compiling fails.
    """
    return _load.build()


_load.register()
