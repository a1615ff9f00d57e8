# SPDX-License-Identifier: Apache-2.0
"""Where a Codec works: device, device_id and TRICODEC_DEVICE, on two GPUs of a stand-in driver."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from gpu_helpers import Run, build_fake_nvcomp, runner_with_driver

pytestmark = pytest.mark.needs_kernels

_PRELUDE = """
import logging
import tricodec

def codec(environment=None, **words):
    os.environ.pop("TRICODEC_DEVICE", None)
    if environment is not None:
        os.environ["TRICODEC_DEVICE"] = environment
    return tricodec.Codec(algorithm="LZ4", **words)

def told(**words):
    # The lines of the log while a codec is made, by level.
    lines = []
    class Listener(logging.Handler):
        def emit(self, record):
            lines.append((record.levelname, record.getMessage()))
    logger, listener = logging.getLogger("tricodec"), Listener()
    level = logger.level
    logger.addHandler(listener)
    logger.setLevel(logging.INFO)
    try:
        codec(**words)
    finally:
        logger.removeHandler(listener)
        logger.setLevel(level)
    return lines
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp("driver")
    library = str(build_fake_nvcomp(folder))
    with runner_with_driver(
        folder, _PRELUDE, FAKE_CUDA_GPUS="2", TRICODEC_LIBNVCOMP=library, FAKE_NVCOMP_LOG=str(folder / "nvcomp")
    ) as started:
        yield started


@pytest.mark.parametrize(
    ("environment", "words", "engine"),
    [
        (None, {}, "cuda:0"),
        (None, {"device": "auto:1"}, "cuda:1"),
        (None, {"device": "auto:7"}, "cpu"),
        (None, {"device": "cuda:1"}, "cuda:1"),
        (None, {"device_id": 7}, "cpu"),
        (None, {"device_id": 1, "device": "cuda"}, "cuda:1"),
        ("cpu", {}, "cpu"),
        ("cpu", {"device": "auto:1"}, "cuda:1"),
        ("auto:1", {}, "cuda:1"),
        ("cuda:1", {"device_id": 0}, "cuda:0"),
        ("cuda", {"device": "cpu"}, "cpu"),
    ],
)
def test_a_codec_works_where_the_argument_else_the_environment_says(
    run: Run, environment: str | None, words: dict[str, object], engine: str
) -> None:
    run(f"assert codec({environment!r}, **{words!r}).engine == {engine!r}, codec({environment!r}, **{words!r}).engine")


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("level=3", "level is an option"),
        ("checksum_policy=tricodec.nvcomp.COMPUTE_AND_VERIFY", "checksums are computed"),
        ("trusted=False", "not trusted"),
        ("device_id=7", "no GPU 7"),
    ],
)
def test_what_a_demanded_gpu_cannot_do_is_an_error_that_names_who_demands_it(run: Run, word: str, reason: str) -> None:
    run(f"""
    import tricodec.nvcomp
    error = raised(lambda: codec("cuda", {word}))
    assert isinstance(error, tricodec.DeviceError) and {reason!r} in str(error), error
    for part in ("TRICODEC_DEVICE=cuda", "device='cpu'", "TRICODEC_DEVICE=auto"):
        assert part in str(error), error
    error = raised(lambda: codec("auto", device="cuda", {word}))
    assert isinstance(error, tricodec.DeviceError) and "TRICODEC_DEVICE" not in str(error), error
    """)


@pytest.mark.parametrize(
    ("words", "reason"),
    [("level=3", "level is an option"), ("device='auto:7'", "no GPU 7"), ("environment='auto:7'", "no GPU 7")],
)
def test_one_line_of_the_log_says_why_the_cpu_works_in_a_gpus_place(run: Run, words: str, reason: str) -> None:
    run(f"""
    lines = told({words})
    assert len(lines) == 1 and lines[0][0] == "INFO" and {reason!r} in lines[0][1] and "not cuda:" in lines[0][1], lines
    assert told(device="cpu") == told(environment="cpu") == told() == []
    """)
