# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's sample programs run and write the right frames."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import bitstreams
import media
import numpy as np
import pytest
from pynv_helpers.official import run_sample
from pynv_helpers.pixels import nv12_bytes

SIZE = "320x180"
FRAME = 320 * 180 * 3 // 2
SEI = bytes.fromhex("dc45e9bde6d948b7962cd820d923eeef") + bytes.fromhex("126756daef9900bb6ac4d810f9e33e8f")


def nv12_of(name: str, width: int = 320, height: int = 180) -> bytes:
    frames = media.ffmpeg_frames(media.generated(name), "yuv420p")
    return b"".join(nv12_bytes(frame, width, height) for frame in frames)


def psnr(path: Path, expected: bytes) -> float:
    """Of all frames of a file as NV12, as ffmpeg decodes it, against raw frames."""
    return bitstreams.psnr(bitstreams.decoded(path, "nv12"), np.frombuffer(expected, np.uint8))


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The 50 frames of a clip as NV12."""
    path = tmp_path_factory.mktemp("raw") / "source.nv12"
    path.write_bytes(nv12_of("h264_bframes.mp4"))
    return path


@pytest.mark.parametrize("memory", ["0", "1"], ids=["host", "device"])
@pytest.mark.parametrize(
    "sample", ["decode", "decode_from_memory_buffer", "decode_with_cuda_control", "decode_with_low_latency"]
)
def test_sample_that_decodes_writes_every_frame(sample: str, memory: str, tmp_path: Path) -> None:
    clip = media.generated("h264_bframes.mp4")

    printed = run_sample(f"advanced/{sample}.py", "-i", clip, "-o", "out.yuv", "-d", memory, cwd=tmp_path)

    assert (tmp_path / "out.yuv").read_bytes() == nv12_of("h264_bframes.mp4")
    assert re.search(r"ecoded (all )?50 frames", printed)


@pytest.mark.parametrize("count", [None, 7], ids=["whole", "cut off"])
def test_sample_reconfigure_writes_each_stream_at_its_size(count: int | None, tmp_path: Path) -> None:
    first, second = media.generated("h264_bframes.mp4"), media.generated("h264_318x178.mp4")
    arguments = ["-i1", first, "-i2", second, "-o1", "1.yuv", "-o2", "2.yuv", *(["-f", count] if count else [])]

    run_sample("advanced/decode_reconfigure.py", *arguments, cwd=tmp_path)

    frames = count or 50
    assert (tmp_path / "1.yuv").read_bytes() == nv12_of("h264_bframes.mp4")[: frames * FRAME]
    expected = nv12_of("h264_318x178.mp4", 318, 178)[: frames * 318 * 178 * 3 // 2]
    assert (tmp_path / "2.yuv").read_bytes() == expected


@pytest.mark.parametrize("scan", [[], ["-sm"]], ids=["", "scanned"])
def test_sample_sampling_stacks_frames_of_several_files(scan: list[str], tmp_path: Path) -> None:
    clips = [media.generated("h264_bframes.mp4"), media.generated("h264_318x178.mp4")]

    printed = run_sample("basic/simple_decode_sampling.py", *clips, "-f", 8, *scan, cwd=tmp_path)

    shapes = re.findall(r"shape: (?:torch.Size\()?[(\[](.*?)[)\]]", printed)
    assert shapes == ["8, 180, 320, 3", "8, 178, 318, 3"]


def test_sample_segments_writes_each_range_with_its_audio(tmp_path: Path) -> None:
    (tmp_path / "segments.txt").write_text("0.2 0.8\n1 1.6\n")
    arguments = ["-i", media.generated("h264_audio.mp4"), "-s", "segments.txt", "-o", "part.mp4"]

    printed = run_sample("basic/create_video_segments.py", *arguments, cwd=tmp_path)

    assert "2 segments created successfully" in printed
    for name in ("part_0.2_0.8.mp4", "part_1_1.6.mp4"):
        assert len(media.ffmpeg_framemd5(tmp_path / name)) == 15
        assert bitstreams.probe(tmp_path / name, "packet=pts_time", stream="a:0")["packets"]


@pytest.mark.parametrize(("codec", "output"), [("h264", "out.h264"), ("hevc", "out.hevc"), ("av1", "out.mp4")])
def test_sample_encode_writes_every_frame(codec: str, output: str, raw: Path, tmp_path: Path) -> None:
    mode = "cpu" if codec == "av1" else "gpu"

    run_sample("basic/encode.py", "-i", raw, "-s", SIZE, "-m", mode, "-c", codec, "-o", output, cwd=tmp_path)

    assert psnr(tmp_path / output, raw.read_bytes()) > 30


@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_sample_sei_messages_come_back(codec: str, raw: Path, tmp_path: Path) -> None:
    output = f"out.{codec}"
    run_sample("advanced/encode_sei_msg.py", "-i", raw, "-s", SIZE, "-c", codec, "-o", output, cwd=tmp_path)
    run_sample("advanced/decode_sei_msg.py", "-i", output, "-s", "sei.bin", "-st", "types.bin", cwd=tmp_path)

    assert (tmp_path / "sei.bin").read_bytes().count(SEI) == 50
    with (tmp_path / "types.bin").open("rb") as file:
        found = pickle.load(file)  # what the sample wrote
    assert [int(info["sei_type"]) for info, payload in found if bytes(payload) in SEI] == [5, 5]
    assert psnr(tmp_path / output, raw.read_bytes()) > 30


@pytest.mark.parametrize(
    ("source", "codec", "pix_fmt"), [("h264_audio.mp4", "HEVC", "nv12"), ("hevc10.mkv", "HEVC", "yuv420p10le")]
)
def test_sample_transcode_keeps_frames_times_and_audio(source: str, codec: str, pix_fmt: str, tmp_path: Path) -> None:
    clip = media.generated(source)

    run_sample("advanced/transcode.py", "-i", clip, "-o", "out.mp4", "-c", codec, "--dump", cwd=tmp_path)

    out = tmp_path / "out.mp4"
    times, wanted = media.ffprobe_times(out), media.ffprobe_times(clip)
    assert np.diff(times) == pytest.approx(np.diff(wanted), abs=1e-3)
    assert len(media.ffmpeg_framemd5(out)) == len(wanted)
    if pix_fmt == "nv12":
        assert psnr(out, b"".join(media.ffmpeg_frames(clip, "nv12"))) > 30
    else:
        assert bitstreams.stream_facts(out)["pix_fmt"] == pix_fmt
    if "audio" in source:
        packets = [bitstreams.probe(each, "packet=size", stream="a:0")["packets"] for each in (out, clip)]
        assert len(packets[0]) == len(packets[1])
    assert (tmp_path / "out_decoded.yuv").stat().st_size == len(wanted) * FRAME * (1 if pix_fmt == "nv12" else 2)
