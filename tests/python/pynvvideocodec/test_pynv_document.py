# SPDX-License-Identifier: Apache-2.0
"""The document's decode examples run as they are printed, and users' programs of known shape run beside them."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import media
import numpy as np
import PyNvVideoCodec as nvc
import pytest
from pynv_helpers import document_examples as examples
from pynv_helpers import pycuda_driver
from pynv_helpers.document_examples import Names
from pynv_helpers.pixels import nv12_bytes

pytestmark = pytest.mark.filterwarnings("ignore:usedevicememory=True")


@pytest.fixture
def clip() -> Path:
    return media.generated("h264_bframes.mp4")


@pytest.fixture
def expected(clip: Path) -> list[bytes]:
    return [nv12_bytes(data, 320, 180) for data in media.ffmpeg_frames(clip)]


def run(code: str, **names: Any) -> Names:
    namespace = Names(np=np, **names)
    exec(compile(code, "<document>", "exec"), {"__builtins__": __builtins__}, namespace)
    return namespace


def test_document_reads_frames_by_address(clip: Path, expected: list[bytes]) -> None:
    arrays: list[bytes] = []

    run(
        examples.READ_BY_ADDRESS,
        enc_file_path=str(clip),
        cast_address_to_1d_bytearray=examples.cast_address_to_1d_bytearray,
        process_array=lambda array: arrays.append(array.tobytes()),
    )

    assert arrays == expected


@pytest.mark.parametrize("code", [examples.COPY_FROM_HOST, examples.EXTERNAL_CONTEXT], ids=["host", "external context"])
def test_document_copies_frames_with_pycuda(
    code: str, clip: Path, expected: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = pycuda_driver.install(monkeypatch)

    names = run(code, enc_file_path=str(clip))

    assert driver.copies == expected
    assert names["raw_frame"].tobytes() == expected[-1]


def test_document_decodes_with_asynchronous_allocations(
    clip: Path, expected: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = pycuda_driver.install(monkeypatch)

    names = run(examples.ASYNC_ALLOCATIONS, demuxer=nvc.CreateDemuxer(str(clip)))

    assert driver.copies == expected
    assert names["cuda_stream_app"].num_synchronized == 50
    assert names["cuda_ctx"].pushed == 1


def test_document_hands_frames_to_a_framework(clip: Path, expected: list[bytes]) -> None:
    tensors: list[bytes] = []

    run(
        examples.INTEROPERABILITY,
        demuxer=nvc.CreateDemuxer(str(clip)),
        decoder=nvc.CreateDecoder(),
        torch=types.SimpleNamespace(from_dlpack=np.from_dlpack),
        process_tensor=lambda tensor: tensors.append(tensor.tobytes()),
    )

    assert tensors == expected
