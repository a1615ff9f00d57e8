#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the wheel layout in build/dev and installs it into .venv. With the argument "tests" it builds the C++ tests there
# instead.
set -euo pipefail
cd "$(dirname "$0")/.."

PATH="$PWD/.venv/bin:$PATH"
export CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}"
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1  # another checkout finds what this one compiled
if [ "${1:-}" = tests ]; then
  cmake -S . -B build/dev -DTRICODEC_BUILD_TESTS=ON >build/dev/configure-tests.log
  exec cmake --build build/dev
fi
# In full: the pip of an older Python knows no -C.
options=(--config-settings=build-dir=build/dev --config-settings=cmake.define.TRICODEC_WERROR=ON)
if command -v ccache >/dev/null 2>&1; then
  options+=(--config-settings=cmake.define.CMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
install=(python -m pip --disable-pip-version-check --quiet install --no-build-isolation --no-deps --force-reinstall)
"${install[@]}" "${options[@]}" .
"${install[@]}" ./compat ./packaging/pynvvideocodec
# `from nvidia import nvcomp` beside DALI, unless it is NVIDIA's own.
python -m pip --disable-pip-version-check list 2>/dev/null | grep -qi '^nvidia-nvcomp' || "${install[@]}" ./packaging/nvcomp
python -m tricodec info
