# SPDX-License-Identifier: Apache-2.0
"""What PyNvVideoCodec asks of the driver, over stand-ins for it: names of 2.2, and pictures in device memory.

Encode() waits for what the program has queued before.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import media
import pytest
from gpu_helpers import Run, build_fake_decoder, build_fake_driver, run_with_driver, runner_with_driver

_DECODING = f"""
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


def decode(driver: Path, code: str, **variables: str) -> None:
    result = run_with_driver(driver, _DECODING + code, **variables)
    assert result.returncode == 0, result.stderr


@pytest.mark.needs_nvdec
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
    decode(driver, code, FAKE_CUVID_MOST="2000")


@pytest.mark.needs_nvdec
def test_frame_in_device_memory_turns_to_rgb_in_device_memory(driver: Path) -> None:
    code = """
rgb = frame.nv12_to_rgb()
assert (rgb.format, rgb.shape, rgb.__dlpack_device__()) == (nvc.Pixel_Format.RGBP, (3, 180, 320), (2, 0)), rgb
"""
    decode(driver, code)


# The document's AppFrame and AppCAI: planes by address, that need not name a stream.
_PRELUDE = """
import PyNvVideoCodec as nvc
from tricodec import nvcomp

streams = [nvcomp.CudaStream.make_new() for _ in range(2)]
PROGRAM, OTHER = (stream.ptr for stream in streams)
WIDTH, HEIGHT = 64, 48
driver = ctypes.CDLL("libcuda.so.1")
os.environ["FAKE_CUDA_QUERY"] = "600"  # no work is done yet: what is not waited for is not in order

class AppCAI:
    def __init__(self, shape, strides, address, **more):
        self.__cuda_array_interface__ = {"shape": shape, "strides": strides, "typestr": "|u1", "version": 3,
                                         "data": (address, False), **more}

class AppFrame:
    def __init__(self, picture, pitch=WIDTH, luma={}, chroma={}):
        rows = np.zeros((HEIGHT * 3 // 2, pitch), np.uint8)
        rows[:, :WIDTH] = picture.reshape(-1, WIDTH)
        address = ctypes.c_uint64()
        assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(rows.nbytes)) == 0
        self.address = address.value
        assert driver.cuMemcpyHtoDAsync_v2(address, rows.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(rows.nbytes),
                                           None) == 0
        self.planes = [
            AppCAI((HEIGHT, WIDTH, 1), (pitch, 1, 1), self.address, **luma),
            AppCAI((HEIGHT // 2, WIDTH // 2, 2), (pitch, 2, 1), self.address + pitch * HEIGHT, **chroma),
        ]

    def cuda(self):
        return self.planes

class Tensor:  # rows by the interface alone, as a library's tensor has them
    def __init__(self, frame):
        self.shape, self.frame = (HEIGHT * 3 // 2, WIDTH), frame
        self.__cuda_array_interface__ = {**frame.planes[0].__cuda_array_interface__, "shape": self.shape,
                                         "strides": None, "stream": OTHER}

    def __dlpack_device__(self):
        return (2, 0)

PICTURE = np.random.default_rng(1).integers(0, 256, WIDTH * HEIGHT * 3 // 2, np.uint8)

def encoded(frame, on_host=False, **words):
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", on_host, preset="P1", **words)
    before = len(logged_calls())
    data = encoder.Encode(frame) + encoder.EndEncode()
    calls = [(call[0], int(call[1], 16), int(call[2], 16)) for call in logged_calls()[before:]]
    return data, calls

def waited_for(calls):
    # The streams with work that is done before the picture's first byte is read.
    first = next(index for index, call in enumerate(calls) if call[0] == "copy")
    reader = calls[first][1]
    return {call[2] for call in calls[:first] if call[:2] == ("wait", reader)} | {reader}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with runner_with_driver(tmp_path_factory.mktemp("driver"), _PRELUDE) as started:
        yield started


@pytest.mark.parametrize("pitch", [64, 256], ids=["packed", "rows of 256 bytes"])
@pytest.mark.parametrize(
    ("given", "stream"),
    [("", "1"), ("cudastream=0", "1"), ("cudastream=PROGRAM", "PROGRAM")],
    ids=["no stream", "the default stream", "a stream"],
)
def test_c58_planes_without_a_stream_are_read_after_the_work_of_the_encoders(
    run: Run, given: str, stream: str, pitch: int
) -> None:
    run(f"""
    data, calls = encoded(AppFrame(PICTURE, {pitch}), {given})
    assert {stream} in waited_for(calls), calls
    assert data == encoded(PICTURE, True)[0]
    """)


def test_c58_planes_of_different_streams_are_each_read_after_their_own(run: Run) -> None:
    run("""
    data, calls = encoded(AppFrame(PICTURE, luma={"stream": OTHER}), cudastream=PROGRAM)
    assert [call[1] for call in calls if call[0] == "copy"][:2] == [OTHER, PROGRAM], calls
    assert data == encoded(PICTURE, True)[0]
    """)


def test_c60_a_tensor_is_read_after_its_own_stream_and_the_encoders(run: Run) -> None:
    run("""
    data, calls = encoded(Tensor(AppFrame(PICTURE)), cudastream=PROGRAM)
    assert ("wait", PROGRAM, OTHER) in calls and PROGRAM in waited_for(calls), calls
    assert data == encoded(PICTURE, True)[0]
    """)
