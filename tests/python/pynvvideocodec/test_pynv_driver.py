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


def test_frame_in_device_memory_turns_to_rgb_in_device_memory(driver: Path) -> None:
    code = """
rgb = frame.nv12_to_rgb()
assert (rgb.format, rgb.shape, rgb.__dlpack_device__()) == (nvc.Pixel_Format.RGBP, (3, 180, 320), (2, 0)), rgb
"""
    run(driver, code)
