#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the GPU engine on a machine with an NVIDIA GPU. The parts, all by default:
#   build       into BUILD, with its Python packages in BUILD/site
#   tests       those that need a GPU; a GPU or a package that is missing fails them
#   memcheck    compute-sanitizer's, of the C++ tests
# A part that fails does not keep the others from running; BUILD/logs has what each printed, and the exit status is 0 if all
# passed.
#
#   tools/gpu_check.sh [--without NAME,...] [--build DIR] [--clips DIR] [--official DIR] [PART ...]
#
#   --without      of dali, triton, torch, cupy, numba, onnx, nvcomp (NVIDIA's): what need not be here; its tests are left out
#   --build DIR    default build/gpu
#   --clips DIR    more videos to compare frame by frame with the CPU's; zeroed*, flipped* and truncated* are taken for damaged
#   --official DIR the folder that has NVIDIA's PyNvVideoCodec, to be measured against; its sample programs run, too
#   CMAKE_ARGS     more for CMake, such as -DTRICODEC_CUDA_ARCHITECTURES=90 for one kind of GPU only
# Needs what the build needs (tools/install_system_packages.sh), nvcc, ffnvcodec's headers, the ffmpeg command line,
# pytest with pytest-xdist, DALI, PyTorch, CuPy, Numba, a Triton server and NVIDIA's nvcomp.
set -uo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build/gpu clips='' official='' without=, parts=
while (($#)); do
  case $1 in
    --without) without=,$2,; shift 2 ;;
    --build) build=$2; shift 2 ;;
    --clips) clips=$(cd "$2" && pwd) || exit 2; shift 2 ;;
    --official) official=$(cd "$2" && pwd) || exit 2; shift 2 ;;
    build | tests | memcheck) parts+=" $1 "; shift ;;
    *) sed -n 's/^# \{0,1\}//; 3,18p' "$0" >&2; exit 2 ;;
  esac
done
wanted() { [[ -z $parts || $parts == *" $1 "* ]]; }
mkdir -p "$build/logs" || exit 2
build=$(cd "$build" && pwd) logs=$build/logs jobs=$(nproc)

summary=() failed=0
# start NAME COMMAND...: runs it beside others, with its output in NAME.log; finish waits for all that were started.
names=() pids=() starts=()
start() {
  "${@:2}" >"$logs/$1.log" 2>&1 &
  names+=("$1") pids+=($!) starts+=("$SECONDS")
}
finish() {
  local i status word failures=$failed
  for i in "${!pids[@]}"; do
    status=0 word=passed
    wait "${pids[i]}" || status=$?
    if ((status)); then
      word="FAILED ($status)" failed=1
      echo "-- the end of $logs/${names[i]}.log"
      tail -n "${TRICODEC_LOG_LINES:-40}" "$logs/${names[i]}.log"
    fi
    summary+=("$(printf '%-14s %-12s %5s s' "${names[i]}" "$word" $((SECONDS - starts[i])))")
    echo "== ${summary[-1]}"
  done
  names=() pids=() starts=()
  ((failed == failures))
}
part() { start "$@" && finish; }
report() {
  printf '%s\n' '' '== summary' "${summary[@]}"
  ((failed)) && echo "FAILED: see $logs" || echo "ok: the GPU engine passed"
  exit "$failed"
}

configure() {
  local launcher=()
  command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  # CMAKE_ARGS is a list of words.
  # shellcheck disable=SC2086
  cmake -S "$root" -B "$build" -G Ninja -DTRICODEC_PYTHON_LAYOUT=ON -DTRICODEC_BUILD_TESTS=ON -DTRICODEC_CUDA=ON \
    -DTRICODEC_NVDEC=ON -DPython_EXECUTABLE="$(command -v python3)" "${launcher[@]}" ${CMAKE_ARGS:-}
}
build_all() {
  local targets=(tricodec _tricodec tricodec_gpu_tests)
  grep -q "DALI plugin: for DALI" "$logs/configure.log" && targets+=(tricodec_dali tricodec_dali_preload)
  cmake --build "$build" -j "$jobs" --target "${targets[@]}" && cmake --install "$build" --prefix "$build/site"
}

echo "== the GPU"
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader || { echo "no GPU here" >&2; exit 1; }
if wanted build; then
  part configure configure || report
  part build build_all || report
fi
export PYTHONPATH=$build/site:$root/compat${PYTHONPATH:+:$PYTHONPATH}
cd "$root" || exit 2

export TRICODEC_REQUIRE_GPU=1
# Nothing may be skipped but what needs a part that need not be here, as the tests' reasons name it.
export TRICODEC_NO_SKIPS=1 TRICODEC_MAY_SKIP="${without//,/ }"
for name in dali triton torch cupy numba; do
  [[ $without == *,$name,* ]] || export "TRICODEC_REQUIRE_${name^^}=1"
done
export TRICODEC_TEST_CACHE=${TRICODEC_TEST_CACHE:-$build/test-media}
[[ -n $clips && -f $clips/MANIFEST.tsv ]] && export TRICODEC_SHARED_CLIPS=$clips
# Without plug-ins that warn of pytest-xdist.
pytest=(python3 -m pytest -p no:cacheprovider -p no:benchmark -q)

# SHARD OF: the C++ tests of that shard.
cpp_tests() { (cd "$build" && GTEST_TOTAL_SHARDS=$2 GTEST_SHARD_INDEX=$1 ${clips:+env TRICODEC_GPU_CLIPS="$clips"} tests/cpp/tricodec_gpu_tests --gtest_brief=1); }
# The clips of the folder would take minutes; a refusal by the driver that a test provokes is no error of memory.
run_memcheck() {
  (cd "$build" && compute-sanitizer --tool memcheck --report-api-errors no --error-exitcode 9 \
    tests/cpp/tricodec_gpu_tests --gtest_brief=1 --gtest_filter='-*several_threads*:*NvdecOf*')
}
unset TRICODEC_GPU_CLIPS
if wanted tests; then
  # The clips of all tests are made once, not by every process that wants them.
  part media python3 tests/python/helpers/media.py || :
  # Those that fill memory, or look at the time, run alone; servers start while few others do.
  apart='alone or slow or needs_triton'
  # With fewer queues decoding may stand behind a stream that a test keeps busy (docs/howto/choose_device.md, "Streams and
  # memory"). A GPU has no room for many processes with so many.
  for shard in 0 1; do CUDA_DEVICE_MAX_CONNECTIONS=32 start "cpp$shard" cpp_tests $shard 2; done
  start python "${pytest[@]}" tests/python/gpu -m "not ($apart)" -n $((jobs < 8 ? jobs : 8))
  finish
  # Documents, commands, examples and data sets, as users run them: "auto" is the GPU. What they lack here is named.
  TRICODEC_NO_SKIPS=0 part programs "${pytest[@]}" tests/python -m "programs and not slow" --dist loadfile \
    -n $((jobs < 8 ? jobs : 8)) || :
  start compat "${pytest[@]}" compat/tests --deselect compat/tests/test_vlm_servers.py -n $((jobs < 4 ? jobs : 4))
  start triton "${pytest[@]}" tests/python/gpu -m "needs_triton and not alone and not slow" -n 0
  [[ -z $official ]] || TRICODEC_PYNV=$official start samples "${pytest[@]}" -n $((jobs < 4 ? jobs : 4)) \
    tests/python/pynvvideocodec/test_pynv_samples.py tests/python/pynvvideocodec/test_pynv_module.py
  ! wanted memcheck || CUDA_DEVICE_MAX_CONNECTIONS=32 start memcheck run_memcheck
  finish
  CUDA_DEVICE_MAX_CONNECTIONS=32 part alone "${pytest[@]}" tests/python/gpu -m "alone and not slow" -n 0
elif wanted memcheck; then
  CUDA_DEVICE_MAX_CONNECTIONS=32 part memcheck run_memcheck
fi
report
