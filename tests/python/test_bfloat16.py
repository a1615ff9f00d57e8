# SPDX-License-Identifier: Apache-2.0
"""bfloat16 and TensorRT's layouts behind the Python door; the numbers are those of float32, rounded by ml_dtypes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tricodec
from media import generated

NORMALIZED: dict[str, Any] = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}


@pytest.fixture(scope="module")
def frame() -> tricodec.Frame:
    return tricodec.FrameReader(generated("h264_bframes.mp4"))[3]


@pytest.mark.parametrize("layout", ["HWC", "CHW", "CHW2", "HWC8"])
@pytest.mark.parametrize("dtype", ["bfloat16", ml_dtypes.bfloat16], ids=str)
def test_bfloat16_is_the_float32_result_rounded(frame: tricodec.Frame, layout: str, dtype: Any) -> None:
    options: dict[str, Any] = {"size": (45, 61), "layout": layout, **NORMALIZED}

    result = tricodec.Transform(dtype=dtype, **options)(frame)

    assert result.dtype == ml_dtypes.bfloat16
    expected = tricodec.Transform(dtype="float32", **options)(frame).astype(ml_dtypes.bfloat16)
    assert result.shape == expected.shape
    assert result.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["uint8", "float16", "bfloat16", "float32"])
@pytest.mark.parametrize("color", ["rgb", "gray"])
def test_the_layouts_of_tensorrt_hold_the_channels_and_zeros(frame: tricodec.Frame, dtype: str, color: str) -> None:
    options: dict[str, Any] = {"size": (31, 40), "dtype": dtype, "color": color}
    plain = tricodec.Transform(**options)(frame)
    channels = plain.shape[2]

    pairs = tricodec.Transform(layout="N(C/2)HW2", **options)(frame)
    eights = tricodec.Transform(layout="NHWC8", **options)(frame)

    assert pairs.shape == ((channels + 1) // 2, 31, 40, 2)
    assert eights.shape == (31, 40, 8)
    unpaired = np.moveaxis(pairs, 3, 1).reshape(-1, 31, 40)
    assert np.moveaxis(unpaired[:channels], 0, 2).tobytes() == plain.tobytes()
    assert not np.ascontiguousarray(unpaired[channels:]).view(np.uint8).any()
    assert np.ascontiguousarray(eights[..., :channels]).tobytes() == plain.tobytes()
    assert not np.ascontiguousarray(eights[..., channels:]).view(np.uint8).any()


def test_a_batch_of_bfloat16_is_written_in_place() -> None:
    options: dict[str, Any] = {"size": (20, 30), "dtype": "bfloat16", "layout": "CHW2"}
    with tricodec.FrameReader(generated("h264_bframes.mp4")) as reader:
        assert reader.output_shape(**options) == (2, 20, 30, 2)
        expected = reader.batch([0, 9], **options)
        out = np.zeros((2, 2, 20, 30, 2), ml_dtypes.bfloat16)
        assert reader.batch([0, 9], out=out, **options) is out
        for wrong in (np.float16, np.uint16, "V2"):
            with pytest.raises(TypeError, match="the result is bfloat16"):
                reader.batch([0, 9], out=np.zeros(out.shape, wrong), **options)

    assert out.tobytes() == expected.tobytes()


@pytest.mark.needs_torch
def test_a_torch_tensor_of_bfloat16_is_written_in_place(frame: tricodec.Frame) -> None:
    import torch

    transform = tricodec.Transform(size=(20, 30), dtype="bfloat16", **NORMALIZED)
    out = torch.zeros((20, 30, 3), dtype=torch.bfloat16)

    assert transform(frame, out=out) is out

    exact = torch.from_numpy(tricodec.Transform(size=(20, 30), dtype="float32", **NORMALIZED)(frame))
    assert torch.equal(out, exact.to(torch.bfloat16))
    with pytest.raises(TypeError, match="dtype float16; the result is bfloat16"):
        transform(frame, out=out.half())


@pytest.mark.needs_torch
def test_bits_in_a_uint16_array_stand_for_bfloat16(frame: tricodec.Frame) -> None:
    import torch

    transform = tricodec.Transform(size=(20, 30), dtype="bfloat16")
    bits = np.zeros((20, 60, 3), np.uint16)
    out = tricodec.Bfloat16Array(bits[:, ::2])

    assert transform(frame, out=out) is out

    expected = transform(frame)
    np.testing.assert_array_equal(bits[:, ::2], expected.view(np.uint16))
    assert not bits[:, 1::2].any()
    assert torch.equal(torch.from_dlpack(out), torch.from_numpy(expected.view(np.uint16)).view(torch.bfloat16))
    with pytest.raises(TypeError, match="uint16, not float32"):
        tricodec.Bfloat16Array(np.zeros(3, np.float32)).__dlpack__()  # type: ignore[arg-type]


def test_without_ml_dtypes_the_error_names_the_remedies_and_torch_tensors_work() -> None:
    pytest.importorskip("torch")
    program = """
        import sys
        sys.modules["ml_dtypes"] = None  # as where it is not installed
        import torch, tricodec
        reader = tricodec.FrameReader(sys.argv[1])
        transform = tricodec.Transform(size=(20, 30), dtype="bfloat16")
        for call in (lambda: transform(reader[0]), lambda: reader.batch([0], transform),
                     lambda: tricodec.decode_video(sys.argv[1], dtype="bfloat16")):
            try:
                call()
            except ImportError as error:
                assert "pip install ml_dtypes" in str(error) and "torch.bfloat16" in str(error), error
            else:
                sys.exit("no error")
        out = torch.zeros(20, 30, 3, dtype=torch.bfloat16)
        assert transform(reader[0], out=out) is out and out.any()
    """
    code = "\n".join(line.removeprefix(" " * 8) for line in program.splitlines())

    result = subprocess.run(
        [sys.executable, "-c", code, str(generated("h264_bframes.mp4"))], capture_output=True, text=True, check=False
    )

    assert result.returncode == 0, result.stderr
