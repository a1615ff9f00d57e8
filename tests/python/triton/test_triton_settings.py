# SPDX-License-Identifier: Apache-2.0
"""What settings mean for a model."""

from __future__ import annotations

import pytest
from tricodec.triton_backend.runtime.settings import CODEC_PARAMETERS, VIDEO_PARAMETERS, Settings, parse_settings


@pytest.mark.parametrize(
    ("device", "kind", "decided"),
    [
        ("auto", "CPU", "cpu"),
        ("cpu", "CPU", "cpu"),
        ("cuda:1", "CPU", "cuda:1"),
        ("auto", "GPU", "auto:2"),
        ("cuda", "GPU", "cuda:2"),
        ("cuda:2", "GPU", "cuda:2"),
    ],
)
def test_an_instance_decodes_on_its_device(device: str, kind: str, decided: str) -> None:
    assert Settings(device=device).for_instance(kind, 2).device == decided


def test_models_take_the_parameters_that_mean_something_to_them() -> None:
    def configuration(**values: str) -> dict[str, dict[str, dict[str, str]]]:
        return {"parameters": {name: {"string_value": value} for name, value in values.items()}}

    assert parse_settings(configuration(trusted="true", EXECUTION_ENV_PATH="/x"), CODEC_PARAMETERS).trusted == "true"
    assert parse_settings(configuration(max_frames="3"), VIDEO_PARAMETERS).max_frames == 3
    with pytest.raises(ValueError, match=r"unknown parameter 'max_frames'.*trusted"):
        parse_settings(configuration(max_frames="3"), CODEC_PARAMETERS)
    with pytest.raises(ValueError, match="unknown parameter 'trusted'"):
        parse_settings(configuration(trusted="true"), VIDEO_PARAMETERS)
    with pytest.raises(ValueError, match="parameter trusted is 'yes'; accepted: true, false"):
        parse_settings(configuration(trusted="yes"), CODEC_PARAMETERS)
