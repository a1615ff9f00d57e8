# SPDX-License-Identifier: Apache-2.0
"""fn.tricodec.encode_video device "gpu": by NVENC where the GPU has it, else the bytes of the CPU."""

from __future__ import annotations

from typing import Any

import pytest
import tricodec
from dali_testing import constant_source, read
from media import generated

pytestmark = [pytest.mark.needs_dali, pytest.mark.needs_gpu]

CLIPS = ["h264_bframes.mp4", "vp9.webm"]


def encodes_on_gpu() -> bool:
    return tricodec.encoder_for("h264", "auto").endswith("_nvenc")


def encoded_on_gpu(codec: str = "libx264", *, exec_dynamic: bool = True, **decoding: Any) -> list[bytes]:
    """Decoded and encoded in one pipeline of the GPU, the last of two runs; files copied to the host."""
    import tricodec.dali  # noqa: F401  (registers the operators)
    from nvidia.dali import Pipeline, fn

    pipe = Pipeline(batch_size=len(CLIPS), num_threads=4, device_id=0, exec_dynamic=exec_dynamic)
    described = {key: decoding[key] for key in ("color", "layout", "format") if key in decoding}
    with pipe:
        encoded = fn.external_source(source=constant_source([read(generated(name)) for name in CLIPS]), batch=True)
        frames, _ = fn.tricodec.decode_video(encoded, device="mixed", count=6, **decoding)
        files = fn.tricodec.encode_video(frames, device="gpu", codec=codec, frame_rate=25.0, gop_size=4, **described)
        pipe.set_outputs(files)
    pipe.build()
    for _ in range(2):
        (files,) = pipe.run()
    host = files.as_cpu()
    return [bytes(host.at(i)) for i in range(len(CLIPS))]


@pytest.mark.parametrize(
    "decoding",
    [
        {},
        {"layout": "CHW"},
        {"layout": "CHW2"},
        {"layout": "HWC8"},
        {"color": "bgr"},
        {"color": "gray"},
        {"size": (64, 96)},
    ],
    ids=str,
)
def test_the_cpu_encodes_frames_of_the_gpu_to_the_bytes_of_the_cpu(decoding: dict[str, Any]) -> None:
    described = {key: decoding[key] for key in ("color", "layout") if key in decoding}

    files = encoded_on_gpu(**decoding)

    for file, name in zip(files, CLIPS, strict=True):
        frames = tricodec.decode_video(generated(name), device="cpu", count=6, **decoding).frames
        assert file == tricodec.encode_video(
            frames, codec="libx264", device="cpu", frame_rate=25.0, gop_size=4, **described
        )


def test_who_encodes_is_the_gpu_if_it_can() -> None:
    (file, _) = encoded_on_gpu("h264")

    reader = tricodec.FrameReader(file, device="cpu")
    assert len(reader) == 6
    # x264 signs its streams.
    assert (b"x264" in file) is not encodes_on_gpu()
