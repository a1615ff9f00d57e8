# SPDX-License-Identifier: Apache-2.0
"""The names of the drop-in PyNvVideoCodec, of releases 1.0 and 2.2, beside those of NVIDIA's package."""

from __future__ import annotations

import ctypes
import json
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import media
import numpy as np
import PyNvVideoCodec as nvc
import pytest
import tricodec
from programs import printed_by
from pynv_helpers import HEIGHT, WIDTH, differences, official, surface
from pynv_helpers.pixels import nv12_bytes

KINDS = [kind for kind in vars(nvc).values() if hasattr(kind, "__members__") and kind is not nvc.Codec]
MEMBERS = [(kind, name) for kind in KINDS for name in kind.__members__]


def test_c1_import_needs_no_gpu_and_loads_no_framework() -> None:
    code = "import sys, PyNvVideoCodec; print([m for m in ('torch', 'pycuda', 'nvidia.dali') if m in sys.modules])"

    assert printed_by(code) == "[]\n"


@pytest.mark.parametrize(("kind", "name"), MEMBERS, ids=str)
def test_enum_member_behaves_as_documented(kind: Any, name: str) -> None:
    member, text = getattr(kind, name), f"{kind.__name__}.{name}"
    value = int(member)

    assert (str(member), f"{member}", repr(member)) == (text, text, f"<{text}: {value}>")
    assert (member.name, member.value) == (name, value)
    assert member == value
    assert kind(value) is member
    assert {member: 1}[member] == 1
    assert pickle.loads(pickle.dumps(member)) is member


def test_d26_exceptions_are_runtime_errors_and_siblings() -> None:
    assert issubclass(nvc.PyNvVCException, RuntimeError)
    assert issubclass(nvc.PyNvVCExceptionUnsupported, RuntimeError)
    assert not issubclass(nvc.PyNvVCExceptionUnsupported, nvc.PyNvVCException)


def test_reconfigure_params_print_all_fields_in_the_documented_order() -> None:
    params = nvc.structEncodeReconfigureParams()
    params.rateControlMode = nvc.NV_ENC_PARAMS_RC_MODE.CBR
    params.multiPass = nvc.NV_ENC_MULTI_PASS.QUARTER_RESOLUTION
    params.averageBitrate, params.vbvBufferSize, params.maxBitRate, params.vbvInitialDelay = 10, 11, 12, 13
    params.frameRateNum, params.frameRateDen, params.targetQuality = 30, 1, 14

    assert repr(params) == (
        "Reconfig Params [rateControlMode=2, multiPass=1, averageBitrate=10, vbvBufferSize=11, maxBitRate=12, "
        "vbvInitialDelay=13, frameRateDen=1, frameRateNum=30, targetQuality=14]"
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rateControlMode", 2),
        ("multiPass", 0),
        ("averageBitrate", 1.5),
        ("averageBitrate", -1),
        ("frameRateNum", 2**32),
    ],
)
def test_reconfigure_params_refuse_other_types(field: str, value: object) -> None:
    with pytest.raises(TypeError, match=field):
        setattr(nvc.structEncodeReconfigureParams(), field, value)


CAPS = {
    "codec_id", "chromaformat_id", "bitdepth", "supported", "num_decoder_engines", "width_max", "height_max",
    "mb_num_max", "width_min", "height_min",
}  # fmt: skip


NO_GPU = tricodec.video.resolve_device("auto") == "cpu"


def chroma(name: str) -> Any:
    return getattr(nvc.cudaVideoChromaFormat, name)


@pytest.mark.parametrize(
    ("codec", "subsampling", "depth", "supported"),
    [("H264", "420", 8, 1), ("HEVC", "444", 12, 1), ("VP8", "420", 10, 0), ("NV12", "420", 8, 0)],
)
def test_decoder_caps_are_those_of_the_engine_that_decodes(
    codec: str, subsampling: str, depth: int, supported: int
) -> None:
    kind = getattr(nvc.cudaVideoCodec, codec)

    caps = nvc.GetDecoderCaps(0, kind, chroma(subsampling), depth)

    assert set(caps) == CAPS
    assert caps["supported"] == supported
    assert (caps["codec_id"], caps["chromaformat_id"], caps["bitdepth"]) == (kind, chroma(subsampling), depth)
    assert (caps["width_max"] > 0) == bool(supported)
    if NO_GPU:
        assert caps["num_decoder_engines"] == 0
        assert caps["width_max"] == (tricodec.get_limits().max_width if supported else 0)


@pytest.mark.parametrize(
    ("from_the_sixth", "format"),
    [((False, 640, 360, nvc.OutputColorType.RGB, False), "RGB"),
     ((640, 360, nvc.OutputColorType.RGBP, False, False), "RGBP")],
    ids=["1.0: a bool", "2.2: an int"],
)  # fmt: skip
def test_decoder_takes_the_positional_order_that_the_sixth_argument_tells(
    from_the_sixth: tuple[Any, ...], format: str
) -> None:
    decoder = nvc.CreateDecoder(
        0, nvc.cudaVideoCodec.H264, 0, 0, False, *from_the_sixth, nvc.DisplayDecodeLatencyType.LOW
    )

    frame = decoder.Decode(next(nvc.CreateDemuxer(media.generated("h264_intra_only.mp4"))))[0]

    assert frame.format == nvc.Pixel_Format[format]
    with pytest.raises(RuntimeError, match="CUDA context and CUDA stream"):
        nvc.CreateDecoder(0, nvc.cudaVideoCodec.H264, 0, 0, True, True)


def test_decoder_leaves_out_frames_before_a_seek_time() -> None:
    demuxer = nvc.CreateDemuxer(media.generated("h264_bframes.mp4"))
    decoder = nvc.CreateDecoder()
    decoder.SetSeekPTS(20 * 512)

    frames = [frame for packet in demuxer for frame in decoder.Decode(packet)]

    assert [frame.timestamp for frame in frames] == [512 * number for number in range(20, 50)]


def test_demuxer_takes_a_callback_by_name() -> None:
    data = media.generated("h264_bframes.mp4").open("rb")

    with data:
        demuxer = nvc.CreateDemuxer(callback=data.readinto)

        assert sum(packet.bsl > 0 for packet in demuxer) == 50
    with pytest.raises(TypeError, match="a filename or a callback"):
        nvc.CreateDemuxer()


def test_decoder_gives_the_frames_that_it_kept() -> None:
    demuxer = nvc.CreateDemuxer(media.generated("h264_intra_only.mp4"))
    decoder = nvc.CreateDecoder(latency=nvc.DisplayDecodeLatencyType.LOW)

    assert decoder.GetNumDecodedFrame(demuxer.Demux()) == 1
    first = media.ffmpeg_frames(media.generated("h264_intra_only.mp4"), "yuv420p")[0]
    assert np.asarray(decoder.GetFrame()).tobytes() == nv12_bytes(first, 320, 180)
    with pytest.raises(IndexError, match="no frame is ready"):
        decoder.GetFrame()


def test_frame_turns_to_rgb_as_the_decoder_would_turn_it() -> None:
    path = media.generated("bt709.mp4")
    decoder, rgb = nvc.CreateDecoder(), nvc.CreateDecoder(outputColorType=nvc.OutputColorType.RGBP)
    frames = [frame for packet in nvc.CreateDemuxer(path) for frame in decoder.Decode(packet)]

    turned = [np.asarray(frame.nv12_to_rgb()).tobytes() for frame in frames]

    expected = [frame for packet in nvc.CreateDemuxer(path) for frame in rgb.Decode(packet)]
    assert turned == [np.asarray(frame).tobytes() for frame in expected]
    assert frames[0].decoder_stream_event == 0
    with pytest.raises(ValueError, match="takes NV12 frames, this one is RGBP"):
        frames[0].nv12_to_rgb().nv12_to_rgb()


@pytest.mark.parametrize("kind", [2, 3])
def test_encoder_makes_a_key_frame_when_the_picture_type_is_intra(kind: int) -> None:
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, preset="P1", gop=100, idrperiod=100)
    picture = np.zeros(WIDTH * HEIGHT * 3 // 2, np.uint8)
    packets: list[Any] = []
    for number in range(6):
        parameters = nvc.NV_ENC_PIC_PARAMS()
        parameters.pictureType = kind if number == 3 else 0
        packets += encoder.Encode(picture, parameters)
    packets += encoder.EndEncode()

    assert [packet["picture_type"] == 3 for packet in packets] == [True, False, False, True, False, False]


def test_encoder_changes_its_quality_when_the_target_quality_changes() -> None:
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, preset="P1", rc="vbr", cq=20, gop=1)
    noise = np.random.default_rng(1).integers(0, 255, WIDTH * HEIGHT * 3 // 2, np.uint8)
    params = encoder.GetEncodeReconfigureParams()
    sizes = []
    for quality in (20, 45):
        params.targetQuality = quality
        encoder.Reconfigure(params)
        packets = [*encoder.Encode(noise), *encoder.EndEncode()]
        sizes.append(sum(len(packet["data"]) for packet in packets))

    assert encoder.GetEncodeReconfigureParams().targetQuality == 45
    assert sizes[1] < sizes[0] / 2
    params.targetQuality = 64
    with pytest.raises(ValueError, match="targetQuality must be from 0 to 63, not 64"):
        encoder.Reconfigure(params)


def test_encoder_loads_a_file_for_its_pictures(tmp_path: Path) -> None:
    data = np.random.default_rng(2).integers(0, 255, 100_000, np.uint8).tobytes()
    (tmp_path / "raw.nv12").write_bytes(data)
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", False, preset="P1")

    address = encoder.CopyToDeviceMemory(str(tmp_path / "raw.nv12"))

    if NO_GPU:
        assert ctypes.string_at(address, len(data)) == data
    else:
        view = {"version": 3, "shape": (len(data),), "typestr": "|u1", "data": (address, False), "strides": None}
        assert tricodec.DeviceArray.over(SimpleNamespace(__cuda_array_interface__=view), "").numpy().tobytes() == data


def test_surface_differs_from_the_official_one_only_as_the_table_says(tmp_path: Path) -> None:
    theirs = json.loads(official.run_with_module(Path(surface.__file__).read_text(), tmp_path))
    ours = json.loads(json.dumps(surface.surface(nvc)))

    found = differences.differences(theirs, ours)

    assert found == differences.documented()
    assert len(theirs) > 60  # the whole of it was read
    assert [name for name in ("Codec", "_PyNvVideoCodec", "__version__") if not hasattr(nvc, name)] == []  # of 1.0
