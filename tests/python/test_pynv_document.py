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


def test_document_creates_a_demuxer(clip: Path) -> None:
    names = run(examples.CREATE_DEMUXER, media_file_name=str(clip))

    assert names["demuxer"].Width() == 320


def test_document_fetches_packets(clip: Path) -> None:
    packets: list[nvc.PacketData] = []

    run(examples.DEMUX, media_file_name=str(clip), process_packet=packets.append)

    assert sum(packet.bsl > 0 for packet in packets) == 50


def test_document_creates_a_decoder() -> None:
    names = run(examples.CREATE_DECODER)

    assert type(names["decoder"]).__name__ == "PyNvDecoder"


def test_document_decodes_a_packet() -> None:
    frames: list[nvc.DecodedFrame] = []
    whole = media.generated("h264_raw.h264").read_bytes()
    packet = nvc.PacketData()
    packet.bsl, packet.bsl_data = len(whole), np.frombuffer(whole, np.uint8).ctypes.data

    run(examples.DECODE, packet=packet, process_decodedframe=frames.append)

    assert len(frames) > 40
    assert frames[0].shape() == (270, 320)


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


def test_document_prints_the_class(capsys: pytest.CaptureFixture[str]) -> None:
    run(examples.PRINT_FRAME)

    assert capsys.readouterr().out == "<class 'PyNvVideoCodec._PyNvVideoCodec.DecodedFrame'>\n"


def test_u2_first_packets_are_decoded_by_an_iterator(clip: Path, expected: list[bytes]) -> None:
    demuxer = nvc.CreateDemuxer(str(clip))
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId())
    it = iter(demuxer)
    frames: list[nvc.DecodedFrame] = []

    while not frames:
        frames = decoder.Decode(next(it))

    assert (frames[0].shape, frames[0].dtype, frames[0].format) == ((270, 320), "|u1", nvc.Pixel_Format.NV12)
    assert np.from_dlpack(frames[0]).tobytes() == expected[0]


def test_u15_one_rule_separates_bad_videos_from_bad_calls(tmp_path: Path) -> None:
    """A server collects the module's exceptions by name and lets everything else fail loudly."""
    bad_video = tuple(
        getattr(nvc, name)
        for name in dir(nvc)
        if name.startswith("PyNvVCException") and issubclass(getattr(nvc, name), Exception)
    )
    broken = tmp_path / "upload.mp4"
    broken.write_bytes(media.generated("h264_bframes.mp4").read_bytes()[:2000])

    with pytest.raises(bad_video):
        nvc.CreateDemuxer(str(broken))
    with pytest.raises(TypeError) as raised:
        nvc.CreateDecoder(codec="h264")  # type: ignore[arg-type]
    assert not isinstance(raised.value, bad_video)


def test_u20_grabber_reports_seconds_and_format(clip: Path) -> None:
    class FrameGrabber:
        def __init__(self, path: str) -> None:
            self.nvDmx = nvc.CreateDemuxer(path)
            self.nvDec = nvc.CreateDecoder(0, self.nvDmx.GetNvCodecId(), 0, 0, False)
            self.unit = self.nvDmx.GetTimebaseNum() / self.nvDmx.GetTimebaseDen()

        def seconds(self) -> list[float]:
            return [f.timestamp * self.unit for packet in self.nvDmx for f in self.nvDec.Decode(packet)]

    grabber = FrameGrabber(str(clip))

    np.testing.assert_allclose(grabber.seconds(), np.arange(50) / 25, atol=1e-9)
    assert grabber.nvDec.GetPixelFormat() == nvc.Pixel_Format.NV12
