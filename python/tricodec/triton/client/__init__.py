# SPDX-License-Identifier: Apache-2.0
"""Requests to a Triton server with tricodec's models, with the keywords of `tricodec.decode_video` and its relatives.

    from tricodec.triton.client import Client

    with Client("127.0.0.1:8001") as client:
        video = client.decode_video("a.mp4", stride=10, size=(224, 224), dtype="float32", layout="CHW")

Needs the package ``tritonclient[grpc]``.
"""

try:
    import tritonclient.grpc  # noqa: F401
except ImportError as _error:
    raise ImportError(
        f"tricodec.triton.client needs Triton's client library ({_error}); install it with "
        "`pip install 'tritonclient[grpc]'`"
    ) from _error

from tricodec.triton.client._client import Client
from tricodec.triton.client._session import VideoSession

__all__ = ["Client", "VideoSession"]
