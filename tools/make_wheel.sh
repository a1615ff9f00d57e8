#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes wheels that carry their libraries, in build/wheel, one for each Python: tools/make_wheel.sh [PYTHON ...]
# The settings are those of pyproject.toml, as for cibuildwheel, which makes the wheels of a release. Each wheel is tried in
# an environment that has nothing but the packages it requires.
set -euo pipefail
cd "$(dirname "$0")/.."

export TRICODEC_LIBRARIES="${TRICODEC_LIBRARIES:-$PWD/build/libraries}"
if command -v ccache >/dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
fi
tools/build_libraries.sh "$TRICODEC_LIBRARIES"
for python in "${@:-python3}"; do
  work=build/wheel/work
  rm -rf $work
  echo "== tricodec for $("$python" --version)"
  "$python" -m pip --disable-pip-version-check wheel --quiet --no-deps --wheel-dir $work/plain .
  auditwheel repair --wheel-dir $work/repaired $work/plain/tricodec-*.whl
  wheel=$(echo $work/repaired/tricodec-*.whl)
  "$python" -m venv $work/venv
  $work/venv/bin/python -m pip --disable-pip-version-check install --quiet "$wheel"
  (cd $work && env -i PATH=/nowhere venv/bin/python ../../../tools/try_wheel.py)
  mv "$wheel" build/wheel
  echo "build/wheel/${wheel##*/}"
done
