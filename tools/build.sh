#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the wheel layout in build/dev and installs it into .venv. With the argument "tests" it builds the C++ tests there
# instead. With LIBRARIES=own the folder is build/own, and the codec libraries are those of tools/build_libraries.py
# (docs/howto/packaging.md).
set -euo pipefail
cd "$(dirname "$0")/.."

PATH="$PWD/.venv/bin:$PATH"
case "${LIBRARIES:-system}" in
  system) folder=build/dev prefix= ;;
  own)
    folder=build/own prefix="$PWD/build/libraries"
    python tools/build_libraries.py --prefix "$prefix"
    ;;
  *)
    echo "error: LIBRARIES=$LIBRARIES; accepted are own and system" >&2
    exit 2
    ;;
esac
export CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}"
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1  # another checkout finds what this one compiled
if [ "${1:-}" = tests ]; then
  cmake -S . -B "$folder" -DTRICODEC_BUILD_TESTS=ON >"$folder/configure-tests.log"
  exec cmake --build "$folder"
fi
options=(
  --config-settings=build-dir="$folder"  # in full: the pip of an older Python knows no -C
  --config-settings=cmake.define.TRICODEC_LIBRARIES="$prefix"
  --config-settings=cmake.define.TRICODEC_WERROR=ON
)
if command -v ccache >/dev/null 2>&1; then
  options+=(--config-settings=cmake.define.CMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
python -m pip --disable-pip-version-check --quiet install --no-build-isolation --no-deps --force-reinstall "${options[@]}" .
python -m pip --disable-pip-version-check --quiet install --no-build-isolation --no-deps --force-reinstall ./compat
python tools/make_pynv_wheel.py tricodec-nvcomp --install  # `from nvidia import nvcomp` beside DALI
python -m tricodec info
