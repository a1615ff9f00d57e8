# SPDX-License-Identifier: Apache-2.0
"""DALI's operators with arguments that nothing expects, in pipelines of one batch.

python random_operators.py FIRST COUNT   builds and runs the pipelines of so many seeds; prints each and what is wrong
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
from typing import Any

import numpy as np
import random_calls
import tricodec
import tricodec.dali
from nvidia.dali import Pipeline, backend, fn
from random_values import FLOATS, INTEGERS, TEXTS, hostile, told

DOCUMENTED = (
    tricodec.Error,
    RuntimeError,
    TypeError,
    ValueError,
    IndexError,
    OSError,
    MemoryError,
    KeyError,
    OverflowError,
)
"""What the operators raise, and DALI itself: KeyError for a name that it lacks, OverflowError for infinity."""

OPERATORS = ("decode_video", "transform", "encode_video", "compress", "decompress")
_SCHEMAS = {
    "decode_video": "DecodeVideo",
    "transform": "Transform",
    "encode_video": "EncodeVideo",
    "compress": "Compress",
    "decompress": "Decompress",
}
_LEFT_OUT = {"device", "bytes_per_sample_hint", "seed", "name", "preserve", "preserve_name"}
"""DALI's own arguments."""


def _input(rng: random.Random, operator: str) -> np.ndarray:
    """A sample that the operator takes, or one that it does not."""
    good = {
        "decode_video": lambda: np.frombuffer(random_calls.clip(), np.uint8).copy(),
        "transform": lambda: random_calls.pictures()[0],
        "encode_video": random_calls.pictures,
        "compress": lambda: np.arange(300, dtype=np.uint8),
        "decompress": lambda: np.frombuffer(
            bytes(tricodec.compress.Codec(algorithm="LZ4").encode(b"abc")), np.uint8
        ).copy(),
    }[operator]()
    if rng.random() < 0.7:
        return good
    shape = rng.choice(((0,), (1,), (7,), (2, 3), (4, 4, 3), (0, 4, 4, 3), (2, 4, 4, 3), (1, 1, 1, 1, 1)))
    return np.zeros(shape, rng.choice(("u1", "i4", "f4", "i8", "f2", "?")))


def _value(rng: random.Random) -> Any:
    """A constant, or the tensor of a sample."""
    way = rng.randrange(6)
    if way == 0:
        return rng.choice(INTEGERS)
    if way == 1:
        return rng.choice(FLOATS)
    if way == 2:
        return rng.choice(TEXTS)
    if way == 3:
        return [rng.choice((-1, 0, 1, 4, 16, 1 << 20, 1 << 31)) for _ in range(rng.choice((1, 2, 3, 4)))]
    if way == 4:
        number = rng.choice((0, -1, (1 << 31) - 1, 1.5, float("nan"), [1, 2], [[1]], []))
        return np.asarray(number, "f4").astype(rng.choice(("i4", "f4", "i8")))
    return hostile(rng)


def trial(seed: int) -> tuple[str, Any]:
    """The pipeline of this seed, the same on every run, and what it is."""
    rng = random.Random(seed)
    operator = rng.choice(OPERATORS)
    schema = backend.GetSchema(f"tricodec__{_SCHEMAS[operator]}")
    names = [name for name in schema.GetArgumentNames() if name not in _LEFT_OUT]
    arguments = {rng.choice(names): _value(rng) for _ in range(rng.choice((1, 1, 2, 3)))}
    sample = _input(rng, operator)
    what = ", ".join(f"{name}={told(value)}" for name, value in arguments.items())

    def run() -> None:
        pipe = Pipeline(batch_size=2, num_threads=2, device_id=None, prefetch_queue_depth=1)
        with pipe:
            data = fn.external_source(source=lambda: [sample, sample], batch=True)
            given = {
                name: fn.external_source(source=lambda value=value: [value, value], batch=True)
                if isinstance(value, np.ndarray) and value.dtype != object
                else value
                for name, value in arguments.items()
            }
            outputs = getattr(fn.tricodec, operator)(data, **given)
            pipe.set_outputs(*(outputs if isinstance(outputs, (list, tuple)) else [outputs]))
        pipe.build()
        for output in pipe.run():
            output.as_cpu()

    return f"{operator}({what}) of {sample.dtype} {sample.shape}", run


def wrong(run: Any) -> str | None:
    """What is wrong with how a pipeline ends."""
    try:
        run()
    except DOCUMENTED as error:
        if isinstance(error, tricodec.InternalError) or "defect" in str(error):
            return f"{type(error).__name__}: {error}"
    except BaseException as error:  # is what is looked for
        return f"{type(error).__name__}: {error}"
    return None


def main(first: int, count: int) -> None:
    """Prints each seed with its pipeline before that is built, and then what went wrong."""
    random_calls.clip()
    for seed in range(first, first + count):
        what, run = trial(seed)
        print(json.dumps({"seed": seed, "what": what}), flush=True)
        watchdog = threading.Timer(random_calls.SECONDS, os._exit, (99,))
        watchdog.daemon = True
        watchdog.start()
        found = wrong(run)
        watchdog.cancel()
        if found is not None:
            print(json.dumps({"seed": seed, "what": what, "wrong": found}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
