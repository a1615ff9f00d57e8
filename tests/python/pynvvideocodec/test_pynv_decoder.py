# SPDX-License-Identifier: Apache-2.0
"""Decoding by the drop-in PyNvVideoCodec: C19 to C31, C34 to C42, errors, latency and threads."""

from __future__ import annotations

import ctypes
import gc
import hashlib
from collections.abc import Callable

import media
import numpy as np
import PyNvVideoCodec as nvc
import pytest
from programs import resident_bytes, run_python
from pynv_helpers import decode_all, decode_packets, packets_of
from pynv_helpers.pixels import nv12_bytes

# The one warning that says where frames of usedevicememory=True are has a test of its own.
pytestmark = pytest.mark.filterwarnings("ignore:usedevicememory=True")

WIDTH, HEIGHT = 320, 180


def expected_nv12(name: str = "h264_bframes.mp4") -> list[bytes]:
    return [nv12_bytes(data, WIDTH, HEIGHT) for data in media.ffmpeg_frames(media.generated(name))]


@pytest.mark.parametrize(
    "make",
    [
        lambda: nvc.CreateDecoder(
            gpuid=0,
            codec=nvc.cudaVideoCodec.H264,
            cudacontext=0,
            cudastream=0,
            usedevicememory=True,
            enableasyncallocations=False,
        ),
        nvc.CreateDecoder,
        lambda: nvc.CreateDecoder(0, nvc.cudaVideoCodec.H264, 0, 0, 1),
        lambda: nvc.CreateDecoder(0, nvc.cudaVideoCodec.H264, 0, 0, 1, False),
        nvc.PyNvDecoder,
    ],
    ids=["c19 all keywords", "c20 defaults", "c21 positional", "c21 positional with async", "class"],
)
def test_c19_to_c21_decoder_of_any_signature_decodes_h264(make: Callable[[], nvc.PyNvDecoder]) -> None:
    frames = decode_packets(make(), packets_of("h264_bframes.mp4"))

    assert [bytes(frame) for frame in frames] == expected_nv12()


@pytest.mark.parametrize("codec", ["H264_SVC", "H264_MVC"])
def test_c40_scalable_streams_decode_their_base_layer(codec: str) -> None:
    frames = decode_packets(nvc.CreateDecoder(codec=nvc.cudaVideoCodec[codec]), packets_of("h264_bframes.mp4"))

    assert len(frames) == 50


@pytest.mark.parametrize(
    "options",
    [{"codec": 4}, {"cudacontext": None}, {"usedevicememory": "yes"}, {"unknown": 1}],
)
def test_u15_wrong_types_are_type_errors(options: dict[str, object]) -> None:
    with pytest.raises(TypeError):
        nvc.CreateDecoder(**options)  # type: ignore[arg-type]


def test_c25_device_memory_without_a_gpu_warns_once_a_process() -> None:
    code = (
        "import warnings; warnings.simplefilter('always')\n"
        "import PyNvVideoCodec as nvc\n"
        "for _ in range(3): nvc.CreateDecoder(usedevicememory=True)\n"
        "nvc.CreateDecoder(usedevicememory=False)\n"
    )

    result = run_python(code)

    assert result.returncode == 0, result.stderr
    assert result.stderr.count("RuntimeWarning: usedevicememory=True, but there is no usable GPU decoder") == 1
    assert "<string>:3" in result.stderr  # it points at the program's line


def test_c26_c27_decoder_needs_no_setup_and_cleans_up_after_itself() -> None:
    # In a process of its own that never mentions CUDA; nothing may be printed on the way, at exit neither.
    path = media.generated("h264_bframes.mp4")
    code = (
        "import sys, PyNvVideoCodec as nvc\n"
        "demuxer = nvc.CreateDemuxer(sys.argv[1])\n"
        "decoder = nvc.CreateDecoder(0, demuxer.GetNvCodecId(), 0, 0, False)\n"
        "frames = [f for p in demuxer for f in decoder.Decode(p)]\n"
        "assert len(frames) == 50\n"
    )
    result = run_python(code, path, PYTHONWARNINGS="error")

    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("name", "size", "frame_size"),
    [
        ("h264_bframes.mp4", (320, 180), 320 * 270),
        ("vp9_odd.webm", (322, 181), 322 * (181 + 91)),
        ("h264_444_odd.mkv", (321, 181), 3 * 321 * 181),
    ],
)
def test_c31_width_is_even_where_chroma_comes_in_pairs(name: str, size: tuple[int, int], frame_size: int) -> None:
    demuxer = nvc.CreateDemuxer(str(media.generated(name)))
    decoder = nvc.CreateDecoder(codec=demuxer.GetNvCodecId())
    decode_packets(decoder, list(demuxer))

    assert (decoder.GetWidth(), decoder.GetHeight(), decoder.GetFrameSize()) == (*size, frame_size)


def test_c35_c37_asynchronous_copies_on_another_stream_give_the_pixels() -> None:
    context, decoding, copying = 0x5000_0000_1000, 0x5000_0000_2000, 0x5000_0000_3000
    decoder = nvc.CreateDecoder(
        cudacontext=context, cudastream=decoding, usedevicememory=True, enableasyncallocations=True
    )

    copies = []
    for packet in packets_of("h264_bframes.mp4"):
        for frame in decoder.Decode(packet):
            decoder.WaitOnCUStream(copying)
            copies.append(ctypes.string_at(frame.GetPtrToPlane(0), frame.framesize()))

    assert copies == expected_nv12()


def test_c40_size_change_gives_frames_of_the_new_size() -> None:
    decoder = nvc.CreateDecoder(usedevicememory=False)
    sizes, known = [], []

    for packet in packets_of("h264_size_change.h264"):
        for frame in decoder.Decode(packet):
            sizes.append(tuple(frame.shape))
            known.append(decoder.GetFrameSize())

    assert sizes == [(270, 320)] * 50 + [(144, 160)] * 25 + [(270, 320)] * 50
    assert set(known) == {270 * 320, 144 * 160}


def test_c41_deep_copies_and_frames_themselves_survive_further_decoding() -> None:
    decoder = nvc.CreateDecoder()
    frames, copies = [], []

    for _ in range(2):
        for packet in packets_of("h264_bframes.mp4"):
            for frame in decoder.Decode(packet):
                frames.append(frame)
                copies.append(np.array(frame))

    assert [bytes(frame) for frame in frames] == expected_nv12() * 2
    assert [copy.tobytes() for copy in copies] == expected_nv12() * 2


@pytest.mark.parametrize("latency", list(nvc.DisplayDecodeLatencyType))
def test_latency_changes_when_frames_come_but_not_the_frames(latency: nvc.DisplayDecodeLatencyType) -> None:
    frames = decode_all(media.generated("h264_bframes.mp4"), latency=latency)

    assert [bytes(frame) for frame in frames] == expected_nv12()


def test_low_latency_gives_each_frame_with_its_own_packet() -> None:
    decoder = nvc.CreateDecoder(latency=nvc.DisplayDecodeLatencyType.LOW)

    counts = [len(decoder.Decode(packet)) for packet in packets_of("h264_nob.mp4")]

    assert counts == [1] * 50 + [0]


def test_decoding_again_and_again_keeps_memory_flat() -> None:
    path = media.generated("h264_bframes.mp4")

    def round_trip() -> str:
        digest = hashlib.md5(usedforsecurity=False)
        for frame in decode_all(path):
            digest.update(frame)
            assert np.from_dlpack(frame).shape == (270, 320)
            assert frame.cuda()[1].shape == [90, 160, 2]
            _unused_capsule = frame.__dlpack__()
        return digest.hexdigest()

    sums = {round_trip() for _ in range(10)}
    before = resident_bytes()
    sums |= {round_trip() for _ in range(60)}
    gc.collect()

    assert len(sums) == 1
    # 60 rounds decode 259 MB; a leak of one frame a round would be 5 MB.
    assert resident_bytes() - before < 4_000_000


def test_session_overhead_is_booked_under_its_number() -> None:
    decoder = nvc.CreateDecoder()
    decoder.setDecoderSessionID(77)
    decode_packets(decoder, packets_of("h264_bframes.mp4"))

    overhead = nvc.PyNvDecoder.getDecoderSessionOverHead(77)

    assert type(overhead) is int
    assert 0 <= overhead < 5000
    assert nvc.PyNvDecoder.getDecoderSessionOverHead(78) == 0


def test_low_level_calls_give_the_same_frames() -> None:
    decoder = nvc.CreateDecoder()
    pictures = []

    for packet in packets_of("h264_bframes.mp4"):
        for _ in range(decoder.GetNumDecodedFrame(packet)):
            address = decoder.GetLockedFrame()
            pictures.append(ctypes.string_at(address, decoder.GetFrameSize()))
            assert decoder.UnlockFrame(address) is None

    assert pictures == expected_nv12()
    assert decoder.GetLockedFrame() == 0
