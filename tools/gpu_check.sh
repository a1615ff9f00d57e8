#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the GPU engine on a machine with an NVIDIA GPU: builds it, runs the tests that need a GPU (a GPU that is missing
# fails them), memcheck, and the measurements, which go to benchmarks/results/gpu.json.
#
#   tools/gpu_check.sh [--build DIR] [--clips DIR] [--bench-clips DIR] [--output FILE] [--official DIR] [--no-memcheck]
#                      [--no-benchmarks]
#
#   --clips DIR    more videos to compare frame by frame with the CPU's; zeroed*, flipped* and truncated* are taken for damaged
#   --bench-clips DIR  where the clips of the measurements are, or are made; default BUILD/clips
#   --build DIR    default build/gpu
#   --output FILE  default benchmarks/results/gpu.json
#   --official DIR the folder that has NVIDIA's PyNvVideoCodec, to be measured against
#   CMAKE_ARGS     more for CMake, such as -DTRICODEC_CUDA_ARCHITECTURES=90 for one kind of GPU only
# Needs what the build needs (tools/install_system_packages.sh), nvcc, ffnvcodec's headers, the ffmpeg command line and
# pytest; DALI, PyTorch, CuPy, Numba and tritonclient are tested where they are installed.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build/gpu clips='' bench_clips='' output=$root/benchmarks/results/gpu.json official='' memcheck=1 benchmarks=1
while (($#)); do
  case $1 in
    --build) build=$2; shift 2 ;;
    --clips) clips=$(cd "$2" && pwd); shift 2 ;;
    --bench-clips) bench_clips=$(cd "$2" && pwd); shift 2 ;;
    --output) output=$2; shift 2 ;;
    --official) official=$(cd "$2" && pwd); shift 2 ;;
    --no-memcheck) memcheck=0; shift ;;
    --no-benchmarks) benchmarks=0; shift ;;
    *) sed -n 's/^# \{0,1\}//; 3,18p' "$0" >&2; exit 2 ;;
  esac
done
mkdir -p "$build" "$(dirname "$output")"
build=$(cd "$build" && pwd) output=$(cd "$(dirname "$output")" && pwd)/$(basename "$output")

echo "== the GPU"
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader

echo "== build"
launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
cmake -S "$root" -B "$build" -G Ninja -DTRICODEC_PYTHON_LAYOUT=ON -DTRICODEC_BUILD_TESTS=ON \
  -DTRICODEC_CUDA=ON -DTRICODEC_NVDEC=ON "${launcher[@]}" ${CMAKE_ARGS:-} > "$build/configure.log" || { cat "$build/configure.log"; exit 1; }
if grep -q "no GPU engine" "$build/configure.log"; then
  echo "the headers of ffnvcodec are missing: install libffmpeg-nvenc-dev (Debian) or nv-codec-headers" >&2
  exit 1
fi
targets=(tricodec _tricodec tricodec_gpu_tests tricodec_decode_throughput tricodec_transform_gpu)
if grep -q "DALI plugin: for DALI" "$build/configure.log"; then
  targets+=(tricodec_dali tricodec_dali_preload)
else
  echo "DALI is not installed: its operators are not checked"
fi
cmake --build "$build" --target "${targets[@]}"
cmake --install "$build" --prefix "$build/site" > /dev/null
export PYTHONPATH=$build/site${PYTHONPATH:+:$PYTHONPATH}

cd "$build"
echo "== tests"
export TRICODEC_GPU_CLIPS=$clips
[[ -n $clips ]] || unset TRICODEC_GPU_CLIPS
tests/cpp/tricodec_gpu_tests --gtest_brief=1

echo "== Python tests"
# Frameworks that are not installed are skipped; the GPU is not.
shared=()
[[ -n $clips && -f $clips/MANIFEST.tsv ]] && shared=(TRICODEC_SHARED_CLIPS="$clips")
(cd "$root" && env "${shared[@]}" TRICODEC_REQUIRE_GPU=1 TRICODEC_TEST_CACHE="$build/test-media" \
  python3 -m pytest -p no:cacheprovider -q tests/python/gpu)

if ((memcheck)); then
  echo "== memcheck"
  # The clips of the folder would take minutes; a refusal by the driver that a test provokes is no error of memory.
  env -u TRICODEC_GPU_CLIPS compute-sanitizer --tool memcheck --report-api-errors no --error-exitcode 9 \
    tests/cpp/tricodec_gpu_tests --gtest_brief=1 --gtest_filter='-*several_threads*:*ReaderOnGpu*:*NvdecOfCodec*'
fi

if ((benchmarks)); then
  echo "== measurements"
  python3 "$root/benchmarks/gpu.py" --build "$build" --clips "${bench_clips:-$build/clips}" --output "$output" \
    ${official:+--official "$official"}
fi
echo "ok: the GPU engine passed"
