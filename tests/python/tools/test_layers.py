# SPDX-License-Identifier: Apache-2.0
"""tools/check_layers.py accepts the tree as it is and finds what breaks a layer."""

from __future__ import annotations

import sys
from pathlib import Path

import media
import pytest

sys.path.insert(0, str(media.REPOSITORY / "tools"))

import check_layers


def problems(root: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(check_layers, "ROOT", root)
    return [*check_layers.check_core(), *check_layers.check_cpp_front_ends(), *check_layers.check_python()]


@pytest.mark.parametrize(
    ("path", "line", "named"),
    [
        ("core/base/a.cpp", '#include "tricodec/tensor/frame.h"', "tensor"),
        ("core/tensor/a.cpp", '#include "media/avio.h"', "media/avio.h"),
        ("core/media/a.cpp", '#include "tricodec/decode/decoder.h"', "decode"),
        ("core/selection/a.cpp", '#include "tricodec/media/demuxer.h"', "media"),
        ("core/index/a.cpp", '#include "decode/decoder_records.h"', "decode/decoder_records.h"),
        ("core/video/a.cpp", '#include "tricodec/encode/encoder.h"', "encode"),
        ("core/image/a.cpp", '#include "tricodec/media/packet.h"', "media"),
        ("core/video/a.cpp", '#include "image/plan.h"', "image/plan.h"),
        ("core/media/a.cpp", "#include <pybind11/pybind11.h>", "no Python"),
        ("core/include/tricodec/tensor/frame.h", '#include "tensor/private.h"', "public header"),
        ("core/include/tricodec/novel.h", "", "no layer"),
        ("plugin/a.cpp", '#include "media/avio.h"', "media/avio.h"),
        ("plugin/ops/a.cpp", "#include <libavcodec/avcodec.h>", "FFmpeg"),
        ("plugin/common/a.cpp", '#include "ops/b.h"', "plugin/ops"),
        ("python/bindings/a.cpp", '#include "tricodec/private.h"', "tricodec/private.h"),
        ("python/tricodec/_video.py", "import tricodec.dali", "tricodec.dali"),
        ("python/tricodec/dali/a.py", "from tricodec.client import Client", "tricodec.client"),
        ("python/tricodec/dali/a.py", "from tricodec import _tricodec", "tricodec._tricodec"),
        ("python/tricodec/dali/a.py", "from ..serve import Server", "tricodec.serve"),
        ("python/PyNvVideoCodec/a.py", "from tricodec.cli import main", "tricodec.cli"),
        ("python/tricodec/a.py", "import torch", "torch"),
        ("triton_backend/a.py", "import tricodec._video", "tricodec._video"),
        ("triton_backend/runtime/a.py", "from tricodec.triton_backend.models import compress", "below the models"),
        ("model_repository/video_decode/1/model.py", "import PyNvVideoCodec", "PyNvVideoCodec"),
    ],
)
def test_a_broken_layer_is_named_with_its_line(
    path: str, line: str, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / path
    source.parent.mkdir(parents=True)
    source.write_text(f"\n{line}\n")

    found = problems(tmp_path, monkeypatch)

    assert len(found) == 1
    assert found[0].startswith(path)
    assert named in found[0]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("core/video/a.cpp", '#include "tricodec/image/transform.h"'),
        ("core/media/a.cpp", "#include <libavformat/avformat.h>"),
        ("plugin/a.cpp", "#include <dali/pipeline/operator/operator.h>"),
        ("python/tricodec/dali/a.py", "from tricodec import decode_video"),
        ("python/tricodec/cli/a.py", "import tricodec.serve"),
        ("python/tricodec/a.py", "def f():\n    import torch"),
        ("python/tricodec/compat/torchcodec/a.py", "import torch"),
        ("triton_backend/a.py", "from tricodec import FrameReader"),
    ],
)
def test_what_a_layer_may_use_is_accepted(
    path: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / path
    source.parent.mkdir(parents=True)
    source.write_text(f"\n{line}\n")

    assert problems(tmp_path, monkeypatch) == []
