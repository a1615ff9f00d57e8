# SPDX-License-Identifier: Apache-2.0
"""Names of PyNvVideoCodec 2.2 that ask the driver, over stand-ins for it."""

from __future__ import annotations

from pathlib import Path

import media
import pytest
from gpu_helpers import build_fake_decoder, build_fake_driver, run_with_driver

pytestmark = pytest.mark.needs_nvdec

_PRELUDE = f"""
import ctypes
import PyNvVideoCodec as nvc
decoder = nvc.CreateDecoder(usedevicememory=True)
demuxer = nvc.CreateDemuxer({str(media.generated("h264_nob.mp4"))!r})
frame = decoder.Decode(demuxer.Demux()) + decoder.Decode(nvc.PacketData())
frame = frame[0]
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_fake_decoder(build_fake_driver(tmp_path_factory.mktemp("driver")))


def run(driver: Path, code: str, **variables: str) -> None:
    result = run_with_driver(driver, _PRELUDE + code, **variables)
    assert result.returncode == 0, result.stderr


def test_decoder_caps_are_those_of_nvdec_when_it_decodes_the_stream(driver: Path) -> None:
    code = """
caps = nvc.GetDecoderCaps()
assert caps == {
    "codec_id": 4, "chromaformat_id": 1, "bitdepth": 8, "supported": 1, "num_decoder_engines": 2, "width_max": 2000,
    "height_max": 2000, "mb_num_max": 65536, "width_min": 48, "height_min": 48,
}, caps
hevc = nvc.GetDecoderCaps(codec=nvc.cudaVideoCodec.HEVC, bitdepth=10)  # which the CPU decodes
assert (hevc["supported"], hevc["num_decoder_engines"]) == (1, 0), hevc
"""
    run(driver, code, FAKE_CUVID_MOST="2000")


def test_frame_has_an_event_that_has_happened(driver: Path) -> None:
    code = """
cuda = ctypes.CDLL("libcuda.so.1")
event = frame.decoder_stream_event
assert event != 0 and event == frame.decoder_stream_event
assert cuda.cuEventQuery(ctypes.c_void_p(event)) == 0
assert cuda.cuStreamWaitEvent(None, ctypes.c_void_p(event), 0) == 0
"""
    run(driver, code)


def test_event_that_the_driver_refuses_is_a_device_error(driver: Path) -> None:
    code = """
import tricodec
from PyNvVideoCodec._cuda_event import CompletedEvent
try:
    CompletedEvent(0)
except tricodec.DeviceError as error:
    print(error)
"""
    result = run_with_driver(driver, code, FAKE_CUDA_FAIL="cuEventCreate:2")

    assert "made no event for the frame: error 2" in result.stdout, result.stderr


def test_frame_in_device_memory_turns_to_rgb_in_device_memory(driver: Path) -> None:
    code = """
rgb = frame.nv12_to_rgb()
assert (rgb.format, rgb.shape, rgb.__dlpack_device__()) == (nvc.Pixel_Format.RGBP, (3, 180, 320), (2, 0)), rgb
"""
    run(driver, code)


def test_encoder_loads_a_file_into_device_memory(driver: Path, tmp_path: Path) -> None:
    (tmp_path / "raw.nv12").write_bytes(bytes(range(256)) * 300)
    code = f"""
encoder = nvc.CreateEncoder(192, 128, "NV12", False)
address = encoder.CopyToDeviceMemory({str(tmp_path / "raw.nv12")!r})
assert ctypes.string_at(address, 76800) == bytes(range(256)) * 300
"""
    run(driver, code)
