# SPDX-License-Identifier: Apache-2.0
"""Where the time goes."""

from __future__ import annotations

from typing import NamedTuple

from tricodec import _tricodec
from tricodec._measurement import Measurement


class StageTime(NamedTuple):
    """What one stage came to, on all threads together."""

    calls: int
    """How often it was entered: packets for ``read`` and ``decode``, pictures or batches for ``transform``."""
    seconds: float
    """Time of the threads that called, running or waiting."""
    gpu_seconds: float
    """Time of the kernels of Transform on GPUs; those that run side by side count each for itself."""


class Profiler(Measurement[_tricodec.Profiler]):
    """Measures what tricodec does in the whole process between entering and leaving, by whichever door and thread.

    Stages are ``read`` (packets out of a container), ``decode`` (packets to pictures; it includes waiting for the
    codec's own threads, or for a GPU's engines), ``transform``, ``encode``, ``write``, ``compress``, ``decompress``,
    and ``wait``: the time for which whoever iterates over frames or asks for batches waits for other threads to decode
    them. Much ``wait`` means that decoding is what takes the time; none, that the consumer is. Threads work side by
    side, so that stages may come to more than `seconds`.

    In Nsight Systems the same stages are NVTX ranges of the domain "tricodec", without a Profiler, where the build had
    NVTX's headers (``nvtx`` in `build_info`).

    ::

        with tricodec.Profiler() as profiler:
            for batch in reader.batches(32, size=(224, 224)):
                train(batch)
        print(profiler)

    Thread safety: safe. Several may measure at once. What is under way when it is asked is not in it.
    """

    def _begin(self) -> _tricodec.Profiler:
        return _tricodec.Profiler()

    @property
    def seconds(self) -> float:
        """From entering to leaving, or to now."""
        return self._started().elapsed_ns() / 1e9

    @property
    def stages(self) -> dict[str, StageTime]:
        """The stages that were passed, by name. Waits for kernels that are being timed."""
        return {
            name: StageTime(calls, host_ns / 1e9, gpu_ns / 1e9)
            for name, calls, host_ns, gpu_ns in self._started().stages()
        }

    def __str__(self) -> str:
        """A table, a line for each stage."""
        if self._native is None:
            return "Profiler: nothing measured yet"
        total = self.seconds
        lines = [f"{'stage':<12}{'calls':>9}{'seconds':>11}{'share':>8}{'GPU seconds':>13}"]
        for name, time in self.stages.items():
            gpu = f"{time.gpu_seconds:.4f}" if time.gpu_seconds else "-"
            share = time.seconds / total if total else 0.0
            lines.append(f"{name:<12}{time.calls:>9}{time.seconds:>11.4f}{share:>7.0%} {gpu:>12}")
        lines.append(f"{'in all':<12}{'':>9}{total:>11.4f}")
        return "\n".join(lines)
