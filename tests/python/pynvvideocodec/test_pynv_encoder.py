# SPDX-License-Identifier: Apache-2.0
"""CreateEncoder, Encode, EndEncode, Reconfigure: the documented contract, C52 to C90, seen in the bitstreams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bitstreams
import media
import numpy as np
import PyNvVideoCodec as nvc
import pytest
import tricodec
from pynv_helpers import HEIGHT, WIDTH, decode_all, encode
from tricodec.encode import CPU_ENCODERS, Settings, build


@pytest.mark.parametrize("codec", ["h264", "hevc", "av1"])
def test_c64_all_frames_decode_and_look_alike(codec: str, tmp_path: Path) -> None:
    frames = bitstreams.moving(WIDTH, HEIGHT, 12)

    # P4, as SVT-AV1 2.3 at its fastest preset gives single pictures almost no bits.
    path = encode(frames, tmp_path, codec=codec, bitrate=4_000_000, preset="P4")

    decoded = bitstreams.decoded(path, "nv12").reshape(frames.shape)
    assert bitstreams.stream_facts(path)["codec_name"] == codec
    assert bitstreams.psnr(decoded, frames) > 38


def test_c52_the_minimal_call_takes_the_documents_defaults() -> None:
    encoder = nvc.CreateEncoder(1920, 1080, "NV12", False)

    params = encoder.GetEncodeReconfigureParams()

    assert (params.averageBitrate, params.maxBitRate, params.vbvBufferSize, params.vbvInitialDelay) == (10_000_000,) * 4
    assert (params.frameRateNum, params.frameRateDen, params.rateControlMode.name) == (30, 1, "CBR")


@pytest.mark.parametrize("codec", ["h264", "hevc", "av1"])
def test_c77_an_idr_picture_comes_every_idrperiod_frames(codec: str, tmp_path: Path) -> None:
    path = encode(bitstreams.moving(WIDTH, HEIGHT, 20), tmp_path, codec=codec, idrperiod=8, bf=1)

    assert bitstreams.keys(path) == [0, 8, 16]


@pytest.mark.parametrize("gop", [6, [6, 6, 6], "6,6,6"])
def test_c79_gop_is_the_distance_of_key_frames(gop: object, tmp_path: Path) -> None:
    path = encode(bitstreams.moving(WIDTH, HEIGHT, 13), tmp_path, gop=gop)

    assert bitstreams.keys(path) == [0, 6, 12]
    types = bitstreams.nal_types(path.read_bytes(), "h264")
    assert types.count(5) == 3


@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_c81_lossless_is_bit_exact(codec: str, tmp_path: Path) -> None:
    frames = np.random.default_rng(3).integers(0, 256, (3, HEIGHT * 3, WIDTH), np.uint8)

    path = encode(frames, tmp_path, "YUV444", codec=codec, tuning_info="lossless")

    assert np.array_equal(bitstreams.decoded(path, "yuv444p").reshape(frames.shape), frames)


@pytest.mark.parametrize(("repeat", "count"), [(0, 1), (1, 3)])
@pytest.mark.parametrize(("codec", "sps"), [("h264", 7), ("hevc", 33)])
def test_c82_headers_are_repeated_where_asked(codec: str, sps: int, repeat: int, count: int, tmp_path: Path) -> None:
    path = encode(bitstreams.moving(WIDTH, HEIGHT, 9), tmp_path, codec=codec, gop=4, repeatspspps=repeat)

    assert bitstreams.nal_types(path.read_bytes(), codec).count(sps) == count


@pytest.mark.parametrize(("mode", "data", "slices"), [(3, 4, 4), (2, 2, 4), (0, 24, 4)])
def test_c89_slices_are_what_mode_and_data_say(mode: int, data: int, slices: int, tmp_path: Path) -> None:
    path = encode(bitstreams.moving(WIDTH, HEIGHT, 3), tmp_path, slice={"mode": mode, "data": data})

    types = [kind for kind in bitstreams.nal_types(path.read_bytes(), "h264") if kind in (1, 5)]
    assert len(types) == 3 * slices


@pytest.mark.parametrize("space", ["bt601", "bt709"])
def test_c71_colorspace_selects_the_matrix_and_is_signalled(space: str, tmp_path: Path) -> None:
    pixels = np.zeros((2, HEIGHT, WIDTH, 4), np.uint8)
    pixels[..., :3] = (200, 30, 90)

    path = encode(pixels, tmp_path, "ABGR", colorspace=space, rc="constqp", constqp=4)

    facts = bitstreams.stream_facts(path)
    assert (facts["color_space"], facts["color_range"]) == ("smpte170m" if space == "bt601" else "bt709", "tv")
    red, green, blue = 200, 30, 90
    kr, kb = (0.299, 0.114) if space == "bt601" else (0.2126, 0.0722)
    luma = kr * red + (1 - kr - kb) * green + kb * blue
    picture = bitstreams.decoded(path)[: WIDTH * HEIGHT]
    assert abs(float(picture.mean()) - (16 + luma * 219 / 255)) < 1.5


@pytest.mark.parametrize("codec", ["hevc", "av1"])
def test_c70_ten_bits_stay_ten_bits(codec: str, tmp_path: Path) -> None:
    frames = bitstreams.moving(WIDTH, HEIGHT, 3).astype(np.uint16) << 8

    path = encode(frames, tmp_path, "P010", codec=codec)

    assert bitstreams.stream_facts(path)["pix_fmt"] == "yuv420p10le"


@pytest.mark.parametrize("fmt", ["NV12", "YUV420", "YV12", "YUV444", "P010", "YUV444_16bit", "ARGB", "ARBG", "ABGR"])
def test_c55_every_documented_format_is_accepted(fmt: str, tmp_path: Path) -> None:
    size = {"YUV444": 3, "P010": 3, "YUV444_16bit": 6, "ARGB": 4, "ARBG": 4, "ABGR": 4}.get(fmt, 1.5)
    encoder = nvc.CreateEncoder(64, 64, fmt, True, preset="P1")

    data = bytearray(encoder.Encode(np.full(int(64 * 64 * size), 100, np.uint8))) + bytearray(encoder.EndEncode())

    (tmp_path / "a.h264").write_bytes(data)
    assert bitstreams.probe(tmp_path / "a.h264", "stream=width")["streams"] == [{"width": 64}]


@pytest.mark.parametrize("lead", [(), (1,), (1, 1)])
def test_c60_c61_tensors_of_all_rows_are_accepted(lead: tuple[int, ...]) -> None:
    torch = pytest.importorskip("torch")
    encoder = nvc.CreateEncoder(64, 48, "NV12", False, preset="P1", bf=1)

    packets = list(encoder.Encode(torch.full((*lead, 72, 64), 90, dtype=torch.uint8))) + list(encoder.EndEncode())

    assert len(packets) == 1


@pytest.mark.parametrize("size", [64 * 72 - 1, 64 * 72 + 1])
def test_c57_a_frame_of_another_length_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match=f"{size} bytes"):
        nvc.CreateEncoder(64, 48, "NV12", True).Encode(np.zeros(size, np.uint8))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"codec": "vp9"}, "codec is 'vp9'"),
        ({"preset": "P8"}, "P1, P2"),
        ({"bitrate": "abc"}, "bitrate is 'abc'"),
        ({"bitrate": -5}, "bitrate is '-5'"),
        ({"constqp": 99}, "constqp is '99'"),
        ({"constqp": [1, 2]}, "three in the order P, B, I"),
        ({"tuning_info": "fast"}, "high_quality"),
        ({"lookahead": 256}, "from 0 to 255"),
        ({"ldkfs": 255}, "from 0 to 254"),
        ({"aq": 16}, "aq is"),
        ({"temporalaq": 2}, "from 0 to 1"),
        ({"gop": -2}, "gop is"),
        ({"gop": [6, 7, 6]}, "gop is '6, 7, 6'; accepted: .* three times the same"),
        ({"gop": [6, 6]}, "three times the same"),
        ({"fps": 0}, "fps is"),
        ({"max_res": "wide"}, "two positive integers"),
        ({"max_res": [64, 64]}, "larger than max_res"),
        ({"colorspace": "bt2020"}, "bt601, bt709"),
        ({"slice": {"mode": 1, "data": 2}}, "number of slices"),
        ({"rc": "qvbr"}, "cbr, vbr, constqp"),
        ({"slice": {"mode": 3}}, "data"),
        ({"slice::mode": 3}, "slice_data"),
        ({"timingInfo::num_unit_in_ticks": 1}, "timescale"),
    ],
    ids=lambda value: "-".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else "",
)
def test_values_outside_the_documented_ranges_and_missing_parts_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", True, **options)


@pytest.mark.parametrize(("codec", "kind"), [("h264", 6), ("hevc", 39)])
def test_sei_messages_are_in_their_pictures_packet(codec: str, kind: int) -> None:
    payload = [*range(16), 0, 0, 0, 1, 0, 0, 3, 255]  # would end the unit early without emulation prevention
    encoder = nvc.CreateEncoder(64, 48, "NV12", True, codec=codec, bf=1, tuning_info="ultra_low_latency")
    frame = np.full(64 * 72, 80, np.uint8)
    data = [bytes(encoder.Encode(frame))]

    data.append(bytes(encoder.Encode(frame, 0, [({"sei_type": 5}, payload)])))

    data.append(bytes(encoder.EndEncode()))
    units = bitstreams.nal_types(b"".join(data), codec)
    slices = [at for at, unit in enumerate(units) if (unit in (1, 5) if codec == "h264" else unit < 32)]
    assert units[slices[1] - 1] == kind
    assert b"".join(data).count(bytes(range(16))) == 1


def test_decoded_frames_are_encoded_without_a_copy_by_the_program(tmp_path: Path) -> None:
    path = encode(bitstreams.moving(WIDTH, HEIGHT, 5), tmp_path)
    encoder = nvc.CreateEncoder(WIDTH, HEIGHT, "NV12", False, constqp=0)

    packets = [bytes(encoder.Encode(frame)) for frame in decode_all(path)]

    (tmp_path / "again.h264").write_bytes(b"".join([*packets, bytes(encoder.EndEncode())]))
    assert np.array_equal(bitstreams.decoded(tmp_path / "again.h264"), bitstreams.decoded(path))


def test_encoder_caps_have_all_keys_and_are_empty_for_unknown_codecs() -> None:
    caps = nvc.GetEncoderCaps(codec="h264")

    assert len(caps) == 57
    assert (caps["support_lossless_encode"], caps["num_encoder_engines"]) == (1, 0)
    assert nvc.GetEncoderCaps(codec="vp9") == {}


@pytest.mark.parametrize("encoder", ["h264_nvenc", "hevc_nvenc", "av1_nvenc"])
def test_every_option_for_nvenc_is_in_libavcodecs_own_table(encoder: str) -> None:
    from tricodec import _tricodec
    from tricodec.io import ffmpeg_utils

    if encoder not in ffmpeg_utils.get_video_encoders():
        assert encoder == "av1_nvenc", "this FFmpeg has no NVENC encoders"
        return  # FFmpeg 5.1 has none for AV1: there is nothing that could be asked
    codec = encoder.split("_", maxsplit=1)[0]
    variants: list[dict[str, Any]] = [
        {}, {"rc": "vbr"}, {"rc": "constqp", "constqp": [20, 21, 22]}, {"cq": 20}, {"initqp": 30},
        {"qmin": 10, "qmax": 40}, {"multipass": "qres"}, {"aq": 5, "temporalaq": 1, "lookahead": 8}, {"ldkfs": 10},
        {"gop": 10, "bf": 3},
        {"slice_mode": 3, "slice_data": 4}, {"level": "4.1"},
        *({"preset": f"P{number}"} for number in range(1, 8)),
        *({"tuning_info": word} for word in ("low_latency", "ultra_low_latency", "lossless")),
    ]  # fmt: skip
    for variant in variants:
        settings, _ = Settings.of({"codec": codec, **variant}, 64, 64)
        plan = build(settings, encoder)

        assert _tricodec.unknown_encoder_options(encoder, plan.keywords["options"]) == {}


def test_av1_is_an_ivf_file_whose_count_can_be_patched(tmp_path: Path) -> None:
    path = encode(bitstreams.moving(WIDTH, HEIGHT, 3), tmp_path, codec="av1")
    data = bytearray(path.read_bytes())

    assert data[:4] == b"DKIF"
    assert nvc.patch_ivf_frame_count(data, 3)
    assert int.from_bytes(data[24:28], "little") == 3
    assert not nvc.patch_ivf_frame_count(bytearray(40), 3)
    with pytest.raises(BufferError):
        nvc.patch_ivf_frame_count(bytes(data), 3)


def test_the_samples_of_a_frame_of_tricodec_are_encoded_not_its_picture() -> None:
    frame = tricodec.FrameReader(media.generated("h264_bframes.mp4"), device="cpu")[3]

    def encoded(picture: object) -> bytes:
        encoder = nvc.CreateEncoder(320, 180, "NV12", True, codec="h264")
        return bytes(encoder.Encode(picture)) + bytes(encoder.EndEncode())

    assert encoded(frame.convert("nv12")) == encoded(np.frombuffer(frame.convert("nv12").pack(), np.uint8))


PARAMETERS: dict[str, dict[str, Any]] = {
    "h264": {"codec": "h264", "preset": "P2", "bf": 3, "gop": 12, "constqp": 27},
    "hevc": {"codec": "hevc", "preset": "P1", "constqp": 30, "fps": 25},
    "av1": {"codec": "av1", "preset": "P1", "constqp": 120},
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_create_encoder_makes_the_packets_of_encoder_with_the_tables_words(name: str) -> None:
    parameters = PARAMETERS[name]
    frames = bitstreams.moving(WIDTH, HEIGHT, 16)
    theirs = nvc.CreateEncoder(WIDTH, HEIGHT, "YUV420", True, use_ivf_container=0, **parameters)
    settings, unknown = Settings.of(parameters, WIDTH, HEIGHT)
    plan = build(settings, CPU_ENCODERS[settings.codec])
    ours = tricodec.Encoder(WIDTH, HEIGHT, device="cpu", **plan.keywords)

    given = [packet for frame in frames for packet in theirs.Encode(frame.reshape(-1))]
    given += theirs.EndEncode()
    wanted = [packet for frame in frames for packet in ours.encode(frame, format="yuv420p")]
    wanted += ours.flush()

    assert unknown == []
    assert [packet["data"] for packet in given] == [bytes(packet) for packet in wanted]
    assert [packet["timestamp"] for packet in given] == [packet.pts for packet in wanted]
