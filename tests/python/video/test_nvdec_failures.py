# SPDX-License-Identifier: Apache-2.0
"""NVDEC that fails, and GPUs that "auto" leaves alone, over stand-ins for the driver: errors, what takes over."""

from __future__ import annotations

from pathlib import Path

import media
import pytest
from gpu_helpers import build_fake_decoder, build_fake_driver, printed_with_driver

pytestmark = pytest.mark.needs_nvdec

CLIP = "h264_nob.mp4"  # shown in the order in which it is decoded, as the stand-in shows pictures
NUM_FRAMES = 50

_PRELUDE = """
import ctypes, gc, logging, os, sys
import numpy as np
import tricodec
CLIP = {clip!r}
logging.basicConfig(level="INFO", format="%(message)s", stream=sys.stdout)
def frame_of(size=(480, 640)):
    return tricodec.Frame.from_planes([np.zeros((*size, 3), np.uint8)], "rgb24")
def fill():
    "Frames on the GPU until no more fit, and the error."
    kept = []
    try:
        while len(kept) < 1000:
            kept.append(frame_of().to("cuda"))
    except tricodec.OutOfMemoryError as error:
        return kept, str(error)
    raise AssertionError("there is no end of memory")
def decoded(device="cuda"):
    with tricodec.Demuxer(CLIP) as demuxer:
        decoder = tricodec.Decoder(demuxer.stream, device=device)
        frames = [frame for packet in demuxer for frame in decoder.decode(packet)] + decoder.flush()
    return decoder, frames
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_fake_decoder(build_fake_driver(tmp_path_factory.mktemp("driver")))


def run(driver: Path, code: str, **environment: str) -> str:
    prelude = _PRELUDE.replace("{clip!r}", repr(str(media.generated(CLIP))))
    return printed_with_driver(driver, prelude + code, **environment)


def test_without_a_failure_every_frame_is_read_from_the_gpu(driver: Path) -> None:
    run(
        driver,
        f"""
decoder, frames = decoded()
assert decoder.device == "cuda:0" and len(frames) == {NUM_FRAMES} and not decoder.issues
assert [int(np.asarray(frame.cpu().planes[0])[0, 0]) for frame in frames] == list(range({NUM_FRAMES}))
reader = tricodec.FrameReader(CLIP, device="cuda")
assert [frame.index for frame in reader] == list(range({NUM_FRAMES})) and not reader.issues
""",
    )


@pytest.mark.parametrize("way", ["decoded()", "list(tricodec.FrameReader(CLIP, device='cuda'))"])
@pytest.mark.parametrize(
    "fail",
    [
        "cuvidDecodePicture:700",
        "cuvidDecodePicture:700:20",
        "cuvidDecodePicture:719:49",
        "cuvidDecodePicture:46:20",
        "cuvidDecodePicture:999:20,cuStreamQuery:719",
        "cuvidParseVideoData:700:20",
        "cuvidParseVideoData:999:20,cuStreamQuery:719",
    ],
    ids=["first", "lost", "last", "unavailable", "unknown of a lost context", "parser", "parser of a lost context"],
)
def test_a_gpu_that_fails_while_it_decodes_is_a_device_error(driver: Path, fail: str, way: str) -> None:
    output = run(driver, f"raised(lambda: {way})", FAKE_CUDA_FAIL=fail)

    assert "DeviceError decoding by NVDEC failed" in output
    assert ("the CUDA context is lost" in output) == (":7" in fail)


@pytest.mark.parametrize(
    ("fail", "issue"),
    [
        ("cuvidDecodePicture:1:49", "decoding a picture by NVDEC failed"),
        ("cuvidDecodePicture:999:49", "decoding a picture by NVDEC failed"),
        ("cuvidMapVideoFrame64:1:49", "taking a picture out of NVDEC failed"),
        ("cuvidParseVideoData:999:49", "NVDEC's parser refused the packet"),
    ],
    ids=["invalid value", "unknown", "not given out", "parser"],
)
def test_a_picture_that_the_driver_does_not_take_costs_itself_and_is_told_of(
    driver: Path, fail: str, issue: str
) -> None:
    code = f"""
decoder, frames = decoded()
assert len(frames) == {NUM_FRAMES - 1} and len(decoder.issues) == 1, (len(frames), decoder.issues)
assert {issue!r} in decoder.issues[0].message, decoder.issues
"""
    run(driver, code, FAKE_CUDA_FAIL=fail)


@pytest.mark.needs_kernels
def test_the_cpu_takes_over_from_a_gpu_that_fails_at_the_first_picture(driver: Path) -> None:
    code = f"""
frames = list(tricodec.FrameReader(CLIP))
assert len(frames) == {NUM_FRAMES} and frames[0].device == "cpu"
"""
    assert "does not decode the stream: decoding by NVDEC failed" in run(
        driver, code, FAKE_CUDA_FAIL="cuvidDecodePicture:719", TRICODEC_LOG="info"
    )


@pytest.mark.parametrize("fail", ["cuvidDecodePicture:1", "cuvidDecodePicture:1:20", "cuvidMapVideoFrame64:1:20"])
def test_the_cpu_takes_over_at_a_picture_that_the_gpu_refuses(driver: Path, fail: str) -> None:
    code = f"""
decoder, frames = decoded("auto")
assert (str(decoder.device), len(frames), decoder.issues) == ("cpu", {NUM_FRAMES}, []), (len(frames), decoder.issues)
assert len({{frame.pts for frame in frames}}) == {NUM_FRAMES}
"""
    run(driver, code, FAKE_CUDA_FAIL=fail)


def test_auto_leaves_a_gpu_alone_for_which_there_are_no_kernels_and_says_why(driver: Path) -> None:
    code = f"""
assert tricodec.video.resolve_device("auto") == tricodec.video.resolve_device("auto:0") == "cpu"
assert tricodec.video.resolve_device("cuda") == "cuda:0"
reader = tricodec.FrameReader(CLIP)
assert reader.device == "cpu" and reader.batch([0, 7], size=(8, 8)).shape == (2, 8, 8, 3)
decoder, frames = decoded("cuda")
assert len(frames) == {NUM_FRAMES} and frames[0].device == "cuda:0"
raised(lambda: tricodec.Transform(size=(8, 8))(frames[0]))
"""
    output = run(driver, code, TRICODEC_DISABLE_CUDA_KERNELS="1", TRICODEC_LOG="info")

    assert "the CPU decodes, not cuda:0: " in output
    why = ("TRICODEC_DISABLE_CUDA_KERNELS is set", "this build has no CUDA kernels, because nvcc was not found")
    assert any(f"the CPU decodes, not cuda:0: {each}" in output for each in why)
    assert any(f"UnsupportedError frames on a GPU cannot be transformed: {each}" in output for each in why)


@pytest.mark.needs_kernels
@pytest.mark.parametrize("codec", ["vc1", "mpeg1video", "mpeg2video", "mpeg4", "mjpeg"])
def test_auto_leaves_codecs_to_the_cpu_whose_samples_may_differ(driver: Path, codec: str) -> None:
    code = f"""
try:
    assert tricodec.Decoder({codec!r}).device == "cpu"
except tricodec.CorruptDataError:  # libavcodec's of VC-1 wants the headers of a container
    assert {codec!r} == "vc1"
assert tricodec.Decoder({codec!r}, device="cuda").device == "cuda:0"
assert tricodec.Decoder("h264").device == "cuda:0"
"""
    output = run(driver, code, TRICODEC_LOG="info")

    reason = "NVDEC's frames of vc1 have never been compared" if codec == "vc1" else f"decoders of {codec} may differ"
    assert f"the CPU decodes, not cuda:0: {reason}" in output


@pytest.mark.needs_kernels
@pytest.mark.parametrize(
    ("clip", "environment", "text"),
    [
        ("h264_16x16.mp4", {}, "NVDEC of this GPU decodes h264 4:2:0 of 8 bits from 48x48 to 4096x4096, not 16x16"),
        (CLIP, {"FAKE_CUVID_MOST": "256"}, "NVDEC of this GPU decodes h264 4:2:0 of 8 bits from 48x48 to 256x256, not"),
        (CLIP, {"FAKE_CUVID_MACROBLOCKS": "239"}, "NVDEC of this GPU decodes pictures of at most 239 macroblocks"),
    ],
    ids=["below", "above", "macroblocks"],
)
def test_a_size_that_the_gpu_does_not_take_is_refused_with_its_limits(
    driver: Path, clip: str, environment: dict[str, str], text: str
) -> None:
    code = f"""
clip = {str(media.generated(clip))!r}
raised(lambda: tricodec.FrameReader(clip, device="cuda"))
assert tricodec.FrameReader(clip).device == "cpu"
"""
    output = run(driver, code, TRICODEC_LOG="info", **environment)

    assert f"UnsupportedError {text}" in output
    assert f"the CPU decodes, not cuda:0: {text}" in output
