# SPDX-License-Identifier: Apache-2.0
"""Where a server listens: its addresses, and TLS."""

from __future__ import annotations

import os
from pathlib import Path

LOOPBACK = "127.0.0.1"
_ANY = {"0.0.0.0": LOOPBACK, "::": "::1"}  # what a client on this machine connects to instead


class Network:
    """The addresses and the TLS files of a server.

    Attributes:
        hosts: the address that HTTP, gRPC and metrics listen on.
        reachable: the host by which a client on this machine reaches each.
        arguments: options of tritonserver.
    """

    def __init__(
        self,
        host: str = LOOPBACK,
        certificate: str | os.PathLike[str] | None = None,
        key: str | os.PathLike[str] | None = None,
        client_ca: str | os.PathLike[str] | None = None,
    ) -> None:
        """See `tricodec.triton.serve.Server` for the arguments and errors."""
        if (certificate is None) != (key is None) or (client_ca is not None and certificate is None):
            missing = "a key (--tls-key)" if certificate is not None else "a certificate (--tls-cert)"
            raise ValueError(f"TLS needs the server's certificate and its key; {missing} is missing")
        files = {"cert": certificate, "key": key, "root-cert": client_ca}
        named = {name: Path(path) for name, path in files.items() if path is not None}
        for name, path in named.items():
            if not path.is_file():
                raise FileNotFoundError(f"no file {path} for TLS ({name}); give a PEM file")
        self.hosts = (LOOPBACK if named else host, host, host)
        self.reachable = tuple(_bracketed(_ANY.get(each, each)) for each in self.hosts)
        self.arguments = [
            *(f"--{name}-address={each}" for name, each in zip(("http", "grpc", "metrics"), self.hosts, strict=True)),
            *(["--grpc-use-ssl=true"] if named else []),
            *(["--grpc-use-ssl-mutual=true"] if client_ca is not None else []),
            *(f"--grpc-{'' if name == 'root-cert' else 'server-'}{name}={path}" for name, path in named.items()),
        ]


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
