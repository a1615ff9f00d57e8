# SPDX-License-Identifier: Apache-2.0
"""What a plan says of a GPU, with a stand-in for the driver."""

from __future__ import annotations

from pathlib import Path

import tricodec
from gpu_helpers import build_fake_driver, printed_with_driver
from media import generated


def test_a_plan_of_the_cpu_is_foreign_where_the_request_means_a_gpu(tmp_path: Path) -> None:
    build_fake_driver(tmp_path)
    plan = tmp_path / "plan.json"
    tricodec.Plan(generated("h264_bframes.mp4"), device="cpu").save(plan)
    code = f"""
import dataclasses, tricodec
from tricodec import _plan_request
data = _plan_request.read_plan({str(plan)!r})
data = dataclasses.replace(data, request=dataclasses.replace(data.request, device="cuda:1"))
_plan_request.write_plan({str(plan)!r}, data)
print(tricodec._tricodec.gpu_facts(1))
raised(lambda: tricodec._tricodec.gpu_facts(2))
raised(lambda: tricodec.Plan.load({str(plan)!r}))
"""

    printed = printed_with_driver(tmp_path, code, FAKE_CUDA_GPUS="2", FAKE_CUDA_VERSION="12090")

    assert "{'gpu': 'Fake GPU 1', 'compute_capability': '9.0', 'cuda_driver': '12090'}" in printed
    assert "DeviceError" in printed
    assert "there is no GPU 2; this process sees 2 GPUs, numbered from 0" in printed
    assert "device is 'cpu' in the plan and 'cuda' here" in printed
    assert "gpu is 'absent' in the plan and 'Fake GPU 1' here" in printed
    assert "and 'cuda 9.0' here" in printed
