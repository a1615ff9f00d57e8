#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the GPU engine on a machine with an NVIDIA GPU: builds it, runs the tests that need a GPU (a GPU or a package
# that is missing fails them), memcheck, and the suite `gpu` of the benchmarks, which writes benchmarks/results/gpu.csv.
# A part that fails does not keep the others from running; the exit status is 0 if all parts passed.
#
#   tools/gpu_check.sh [--quick] [--without NAME,...] [--build DIR] [--clips DIR] [--output FILE] [--logs DIR]
#                      [--official DIR] [--no-build] [--no-tests] [--no-memcheck] [--no-benchmarks]
#
#   --quick        one round of each measurement: the whole check then takes ten minutes
#   --without      of dali, triton, torch, cupy, numba, onnx, nvcomp (NVIDIA's): what need not be here; its tests are left out
#   --clips DIR    more videos to compare frame by frame with the CPU's; zeroed*, flipped* and truncated* are taken for damaged
#   --build DIR    default build/gpu
#   --output FILE  default benchmarks/results/gpu.csv
#   --logs DIR     what each part printed; default BUILD/logs
#   --official DIR the folder that has NVIDIA's PyNvVideoCodec, to be measured against; its sample programs run, too
#   --no-build     what was built there before is checked
#   CMAKE_ARGS     more for CMake, such as -DTRICODEC_CUDA_ARCHITECTURES=90 for one kind of GPU only
# Needs what the build needs (tools/install_system_packages.sh), nvcc, ffnvcodec's headers, the ffmpeg command line,
# pytest with pytest-xdist, DALI, PyTorch, CuPy, Numba, a Triton server and NVIDIA's nvcomp.
set -uo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build/gpu clips='' output=$root/benchmarks/results/gpu.csv logs='' official='' quick=''
build_it=1 tests=1 memcheck=1 benchmarks=1 without=,
usage() { sed -n 's/^# \{0,1\}//; 3,21p' "$0" >&2; exit 2; }
while (($#)); do
  case $1 in
    --quick) quick=--quick; shift ;;
    --without) without=,$2,; shift 2 ;;
    --build) build=$2; shift 2 ;;
    --clips) clips=$(cd "$2" && pwd) || exit 2; shift 2 ;;
    --output) output=$2; shift 2 ;;
    --logs) logs=$2; shift 2 ;;
    --official) official=$(cd "$2" && pwd) || exit 2; shift 2 ;;
    --no-build) build_it=0; shift ;;
    --no-tests) tests=0; shift ;;
    --no-memcheck) memcheck=0; shift ;;
    --no-benchmarks) benchmarks=0; shift ;;
    *) usage ;;
  esac
done
logs=${logs:-$build/logs}
mkdir -p "$build" "$(dirname "$output")" "$logs" || exit 2
build=$(cd "$build" && pwd) logs=$(cd "$logs" && pwd) output=$(cd "$(dirname "$output")" && pwd)/$(basename "$output")
jobs=$(nproc)

summary=() failed=0
# report NAME STATUS SECONDS: what became of a part; its log's end if it failed.
report() {
  local word=passed
  if (($2)); then
    word="FAILED ($2)" failed=1
    echo "-- the end of $logs/$1.log"
    tail -n "${TRICODEC_LOG_LINES:-40}" "$logs/$1.log"
  fi
  summary+=("$(printf '%-14s %-12s %5s s' "$1" "$word" "$3")")
  echo "== $1: $word, $3 s"
}
# part NAME COMMAND...: runs it with its output in NAME.log.
part() {
  local name=$1 start=$SECONDS status=0
  shift
  "$@" > "$logs/$name.log" 2>&1 || status=$?
  report "$name" "$status" $((SECONDS - start))
  return "$status"
}
# parts that run side by side: begin NAME COMMAND..., then join.
names=() pids=() starts=()
begin() {
  local name=$1
  shift
  "$@" > "$logs/$name.log" 2>&1 &
  names+=("$name") pids+=($!) starts+=("$SECONDS")
}
join() {
  local i status
  for i in "${!pids[@]}"; do
    status=0
    wait "${pids[i]}" || status=$?
    report "${names[i]}" "$status" $((SECONDS - starts[i]))
  done
  names=() pids=() starts=()
}
finish() {
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
if ((build_it)); then
  part configure configure || finish
  if grep -q "no GPU engine" "$logs/configure.log"; then
    echo "the headers of ffnvcodec are missing: install libffmpeg-nvenc-dev (Debian) or nv-codec-headers" >&2
    failed=1
    finish
  fi
  part build build_all || finish
fi
export PYTHONPATH=$build/site:$root/compat${PYTHONPATH:+:$PYTHONPATH}
cd "$root" || exit 2

export TRICODEC_REQUIRE_GPU=1
# With fewer queues decoding may stand behind a stream that a test keeps busy (docs/reference/gpu.md, "Streams and
# memory").
export CUDA_DEVICE_MAX_CONNECTIONS=32
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
if ((tests)); then
  # The clips of all tests are made once, not by every process that wants them.
  part media python3 tests/python/helpers/media.py || :
  # Those that fill memory, or look at the time, run alone; servers start while few others do.
  apart='alone or slow or needs_triton'
  for shard in 0 1; do begin "cpp$shard" cpp_tests $shard 2; done
  begin python "${pytest[@]}" tests/python/gpu -m "not ($apart)" -n $((jobs < 6 ? jobs : 6))
  join
  # Documents, commands, examples and data sets, as users run them: "auto" is the GPU. What they lack here is named.
  TRICODEC_NO_SKIPS=0 part programs "${pytest[@]}" tests/python -m "programs and not slow" --dist loadfile \
    -n $((jobs < 6 ? jobs : 6)) || :
  begin compat "${pytest[@]}" compat/tests --deselect compat/tests/test_vlm_servers.py -n $((jobs < 4 ? jobs : 4))
  begin triton "${pytest[@]}" tests/python/gpu -m "needs_triton and not alone and not slow" -n 0
  [[ -z $official ]] || TRICODEC_PYNV=$official begin samples "${pytest[@]}" -n $((jobs < 4 ? jobs : 4)) \
    tests/python/pynvvideocodec/test_pynv_samples.py tests/python/pynvvideocodec/test_pynv_module.py
  ((memcheck)) && begin memcheck run_memcheck
  join
  part alone "${pytest[@]}" tests/python/gpu -m "alone and not slow" -n 0
elif ((memcheck)); then
  part memcheck run_memcheck
fi
unset CUDA_DEVICE_MAX_CONNECTIONS
if ((benchmarks)); then
  echo "== measurements"
  start=$SECONDS status=0
  # shellcheck disable=SC2086
  TRICODEC_OFFICIAL_PYNV=$official python3 -m benchmarks gpu $quick --output "$output" 2>&1 | tee "$logs/benchmarks.log" || status=$?
  report benchmarks "$status" $((SECONDS - start))
fi
finish
