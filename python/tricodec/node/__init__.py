# SPDX-License-Identifier: Apache-2.0
"""One service a machine: the processes of a user share the decoders, the memory and the frames of a node.

    tricodec node start

    node = tricodec.node.connect()
    video = node.decode_video("a.mp4", fps=2, size=(224, 224))  # the bytes of tricodec.decode_video

If the environment variable TRICODEC_NODE is ``auto`` or the path of a node's socket, `tricodec.decode_video` and
`tricodec.read_many` ask the node; ``auto`` starts one if none runs. A process that decodes with threads alone needs no
node.
"""

from __future__ import annotations

from tricodec.node._arrays import NodeArray, NodeDeviceArray
from tricodec.node._node import Node, NodeReader, active, connect, use, use_of_environment
from tricodec.node._start import NodeLostError, RunsAlreadyError, Settings, parse_bytes, start

__all__ = [
    "Node", "NodeArray", "NodeDeviceArray", "NodeLostError", "NodeReader", "RunsAlreadyError", "Settings", "active",
    "connect", "parse_bytes", "start", "use", "use_of_environment",
]  # fmt: skip
