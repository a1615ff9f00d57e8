# SPDX-License-Identifier: Apache-2.0
"""Requests to a Triton server with tricodec's models, with the keywords of `tricodec.decode_video` and its relatives.

    from tricodec.triton.client import Client

    with Client("127.0.0.1:8001") as client:
        video = client.decode_video("a.mp4", stride=10, size=(224, 224), dtype="float32", layout="CHW")

Needs the package ``tritonclient[grpc]``.
"""

from tricodec.show import needed

needed("tritonclient.grpc", "tritonclient[grpc]", "requests to Triton")

from tricodec.triton.client._client import Client  # noqa: E402  (what it needs comes first)
from tricodec.triton.client._session import VideoSession  # noqa: E402

__all__ = ["Client", "VideoSession"]
