# SPDX-License-Identifier: Apache-2.0
"""Device memory that is kept for the next one who asks, with a stand-in for the driver."""

from __future__ import annotations

from pathlib import Path

from gpu_helpers import runner_with_driver


def test_what_is_used_over_and_over_stays_whatever_its_size(tmp_path: Path) -> None:
    """Of 4 GiB 256 MiB are kept: the two large blocks drive each other out, not the small one in between."""
    with runner_with_driver(tmp_path, "from tricodec import nvcomp\n", FAKE_CUDA_MEMORY=str(4 << 30)) as run:
        run("""
        small = np.zeros(1000, np.uint8)
        large = [np.zeros(size << 20, np.uint8) for size in (140, 150)]
        for _ in range(3):
            for data in (large[0], small, large[1], small):
                nvcomp.as_array(data).cuda()

        sizes = [int(call[2], 16) for call in logged_calls() if call[0] == "allocate"]
        assert sizes.count(1024) == 1, sizes
        assert sizes.count(140 << 20) == sizes.count(150 << 20) == 3, sizes
        """)
