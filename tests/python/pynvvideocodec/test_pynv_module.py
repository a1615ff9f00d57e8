# SPDX-License-Identifier: Apache-2.0
"""The names of the drop-in PyNvVideoCodec: C1 to C3, the enumerations, exceptions and encoder structs."""

from __future__ import annotations

import pickle

import PyNvVideoCodec as nvc
import pytest
from programs import printed_by

ENUMS = {
    "cudaVideoCodec": {
        "MPEG1": 0, "MPEG2": 1, "MPEG4": 2, "VC1": 3, "H264": 4, "JPEG": 5, "H264_SVC": 6, "H264_MVC": 7, "HEVC": 8,
        "VP8": 9, "VP9": 10, "AV1": 11, "YUV420": 1230591318, "YV12": 1498820914, "NV12": 1314271538,
        "YUYV": 1498765654, "UYVY": 1431918169,
    },
    "cudaVideoSurfaceFormat": {"NV12": 0, "P016": 1, "YUV444": 2, "YUV444_16Bit": 3, "NV16": 4, "P216": 5},
    "cudaVideoChromaFormat": {"Monochrome": 0, "420": 1, "422": 2, "444": 3},
    "Pixel_Format": {
        "NV12": 3, "YUV444": 4, "P016": 5, "YUV444_16Bit": 6, "NV16": 7, "P216": 8, "RGB": 9, "RGBP": 10,
    },
    "ColorSpace": {"BT_601": 0, "BT_709": 1, "UNSPEC": 2},
    "ColorRange": {"MPEG": 0, "JPEG": 1, "UDEF": 2},
    "NV_ENC_PARAMS_RC_MODE": {"CONSTQP": 0, "VBR": 1, "CBR": 2},
    "NV_ENC_MULTI_PASS": {"DISABLED": 0, "QUARTER_RESOLUTION": 1, "FULL_RESOLUTION": 2},
    "OutputColorType": {"NATIVE": 0, "RGB": 1, "RGBP": 2},
    "DisplayDecodeLatencyType": {"NATIVE": 0, "LOW": 1, "ZERO": 2},
    "VideoPacketFlag": {"ENDOFSTREAM": 1, "TIMESTAMP": 2, "DISCONTINUITY": 4, "ENDOFPICTURE": 8, "NOTIFY_EOS": 16},
}  # fmt: skip
MEMBERS = [(enum, name, value) for enum, members in ENUMS.items() for name, value in members.items()]


def test_c1_every_name_is_in_one_module() -> None:
    names = """CreateDemuxer CreateDecoder CreateEncoder PacketData PyNvDemuxer PyNvDecoder DecodedFrame CAIMemoryView
        PyNvEncoder structEncodeReconfigureParams cudaVideoCodec cudaVideoSurfaceFormat Pixel_Format ColorSpace
        ColorRange NV_ENC_PARAMS_RC_MODE NV_ENC_MULTI_PASS BT_601 BT_709 UNSPEC MPEG JPEG UDEF Codec tostring
        format_optional_params _PyNvVideoCodec PyNvVCException PyNvVCExceptionUnsupported logger __version__""".split()

    assert [name for name in names if not hasattr(nvc, name)] == []


def test_c1_import_needs_no_gpu_and_loads_no_framework() -> None:
    code = "import sys, PyNvVideoCodec; print([m for m in ('torch', 'pycuda', 'nvidia.dali') if m in sys.modules])"

    assert printed_by(code) == "[]\n"


@pytest.mark.parametrize("enum", ENUMS)
def test_enum_has_exactly_the_documented_members(enum: str) -> None:
    assert {name: int(member) for name, member in getattr(nvc, enum).__members__.items()} == ENUMS[enum]


@pytest.mark.parametrize(("enum", "name", "value"), MEMBERS, ids=str)
def test_enum_member_behaves_as_documented(enum: str, name: str, value: int) -> None:
    kind = getattr(nvc, enum)
    member = getattr(kind, name)

    assert (str(member), f"{member}", repr(member)) == (f"{enum}.{name}", f"{enum}.{name}", f"<{enum}.{name}: {value}>")
    assert (member.name, member.value, int(member)) == (name, value, value)
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
