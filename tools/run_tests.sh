#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of build/dev: the C++ tests beside pytest without the slow tests. With --slow: the C++ tests under ASan and
# UBSan (build/sanitize) and TSan (build/thread), those of results in memory under valgrind, then the slow Python tests.
# A part that fails does not keep the others from running; the last line names those that did.
set -uo pipefail
cd "$(dirname "$0")/.."

export PATH="$PWD/.venv/bin:$PATH"
# What `make test` installs is there: the tests that need it run or fail, they are not skipped.
export TRICODEC_REQUIRE_DALI=1 TRICODEC_REQUIRE_TRITON=1 TRICODEC_REQUIRE_ONNX=1
unset PYTHONDONTWRITEBYTECODE  # each of pytest's workers would compile all tests by itself
jobs=$(nproc)
failed=()
part() {  # NAME COMMAND...
  echo "== $1"
  "${@:2}" || failed+=("$1")
}
sanitized() {  # PRESET
  cmake --preset "$1" ${launcher[@]+"${launcher[@]}"} >"build/configure-$1.log" && cmake --build --preset "$1" -j "$jobs" &&
    ctest --preset "$1" --no-tests=error -j "$jobs"
}

if [ "${1:-}" = --slow ]; then
  launcher=()
  ! command -v ccache >/dev/null || launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  for preset in sanitize thread; do part "C++ ($preset)" sanitized $preset; done
  # Each of these compares a result in memory with what it expects, so memcheck finds a part that nothing wrote, also in the
  # libraries. The other tests take hours so.
  in_memory="Compress*:Codec.*:Deflate*:NpyHeader.*:ConvertLayout*:ResizedSize*:RgbToYuv*:Subsample*:Transform*:Tensor*"
  in_memory+=":Dlpack*:Frame.*:PaddedFrame*:BitReader*:Leb128*:H264Sps*:Av1Units*:*Av1UnitsOf*:StreamIssues*:Encoder.*"
  in_memory+=":AudioEncoder*:AudioReader*:FrameReader.*:ReadPlan*:GopRanges*:IndexFile*"
  part "C++ (valgrind)" valgrind --quiet --error-exitcode=9 --num-callers=14 --suppressions=tests/cpp/valgrind.supp \
    build/dev/tests/cpp/tricodec_tests --gtest_brief=1 --gtest_filter="$in_memory"
  part "Python (slow)" python -m pytest --durations=10 -m slow -s
else
  build/dev/tests/cpp/tricodec_tests --gtest_brief=1 >build/cpp-tests.log 2>&1 &
  # Tests wait for servers and processes for a third of their time. A file's tests stay together, as servers and compiled
  # plugins are shared within one; conftest.py orders them.
  part Python python -m pytest --durations=10 -m "not slow and not needs_gpu" -n $((jobs + 2)) --dist loadfile \
    --no-loadscope-reorder
  wait $! || failed+=(C++)
  echo "== C++"
  if [[ " ${failed[*]-} " == *" C++ "* ]]; then cat build/cpp-tests.log; else tail -n 3 build/cpp-tests.log; fi
fi
if ((${#failed[@]})); then
  printf 'FAILED:%s\n' "$(printf ' %s;' "${failed[@]}")"
  exit 1
fi
echo "ok: all tests passed"
