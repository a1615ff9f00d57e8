# SPDX-License-Identifier: Apache-2.0
"""Whether data are trusted: the argument, else TRICODEC_TRUSTED, never the data themselves."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tricodec
from tricodec.compress.numcodecs import Tricodec

VALUES = np.arange(1000, dtype="<i4")
ZARR = pytest.mark.skipif(sys.version_info < (3, 11), reason="Zarr 3 needs Python 3.11")


def starts_a_child(work: Callable[[], Any]) -> bool:
    """Whether Bitcomp was decoded in a process of its own: pages of children that have ended were touched."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
    result = work()
    np.testing.assert_array_equal(np.frombuffer(bytes(result), "<i4"), VALUES)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt > before


@pytest.mark.parametrize(
    ("environment", "words", "guarded"),
    [
        (None, {}, False),
        (None, {"trusted": False}, True),
        ("1", {}, False),
        ("0", {}, True),
        ("0", {"trusted": True}, False),
    ],
)
@pytest.mark.parametrize("kind", ["Codec", "numcodecs"])
def test_the_argument_goes_before_the_environment(
    kind: str, environment: str | None, words: dict[str, Any], guarded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRICODEC_TRUSTED", raising=False)
    if environment is not None:
        monkeypatch.setenv("TRICODEC_TRUSTED", environment)
    if kind == "Codec":
        codec: Any = tricodec.Codec(algorithm="Bitcomp", data_type="<i4", device="cpu", **words)
    else:
        codec = Tricodec("Bitcomp", data_type="<i4", **words)
    packed = bytes(codec.encode(VALUES))

    assert starts_a_child(lambda: codec.decode(packed)) is guarded


@ZARR
@pytest.mark.parametrize("trusted", [True, False, None])
def test_zarr_reads_an_array_as_its_reader_trusts_it(
    trusted: bool | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import zarr
    from tricodec.compress.zarr import TricodecCodec
    from zarr.registry import register_codec

    monkeypatch.setenv("TRICODEC_TRUSTED", "0")
    register_codec("tricodec", TricodecCodec)
    codec = TricodecCodec(algorithm="Bitcomp", data_type="<i4", trusted=trusted)
    made = zarr.create_array(tmp_path / "a", shape=VALUES.shape, chunks=VALUES.shape, dtype="<i4", compressors=codec)
    made[:] = VALUES

    def read(array: Any) -> bytes:
        return bytes(array[:])

    assert starts_a_child(lambda: read(made)) is (trusted is not True)
    opened = zarr.open_array(tmp_path / "a", mode="r")
    assert starts_a_child(lambda: read(opened))
    assert "trusted" not in (tmp_path / "a/zarr.json").read_text()


@ZARR
def test_zarr_refuses_an_array_that_vouches_for_itself(tmp_path: Path) -> None:
    import zarr
    from tricodec.compress.zarr import TricodecCodec
    from zarr.registry import register_codec

    register_codec("tricodec", TricodecCodec)
    zarr.create_array(tmp_path / "a", shape=(10,), dtype="<i4", compressors=TricodecCodec(algorithm="Bitcomp"))
    metadata = tmp_path / "a/zarr.json"
    described = json.loads(metadata.read_text())
    described["codecs"][-1]["configuration"]["trusted"] = True
    metadata.write_text(json.dumps(described))

    with pytest.raises(ValueError, match="cannot declare themselves trusted"):
        zarr.open_array(tmp_path / "a", mode="r")
