#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the environment of one purpose with its pinned packages: .venv, and for the benchmarks' peers .venv-bench.
# Usage: tools/make_venv.sh demo|test|docs|bench, or tools/make_venv.sh torch [PACKAGE ...] for PyTorch and what goes with it
set -euo pipefail
cd "$(dirname "$0")/.."

purpose=${1:?usage: tools/make_venv.sh demo|test|docs|bench|torch}
venv=.venv
[ "$purpose" != bench ] || venv=.venv-bench
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
install=("$venv/bin/python" -m pip --disable-pip-version-check --quiet install)
# PyTorch where a build without CUDA is on offer; gigabytes of CUDA packages are not worth what uses it.
install_torch() {  # PACKAGE...
  local plan requirements=(torch==2.13.0 "$@")
  if ! plan=$("${install[@]}" --dry-run --report - "${requirements[@]}" 2>/dev/null); then
    echo "${requirements[*]} is not on offer here; what needs it is left out"
  elif grep -qE '"name": "(nvidia-|triton)' <<<"$plan"; then
    echo "${requirements[0]} comes with CUDA packages here; what needs it is left out"
  else
    "${install[@]}" "${requirements[@]}"
  fi
}
case "$purpose" in
  torch) install_torch "${@:2}" ;;
  demo)
    "${install[@]}" -r tools/requirements-build.txt
    # A tritonserver in a wheel. The server needs none of its dependencies, and they hold numpy back.
    "${install[@]}" --no-deps nvidia-pytriton==0.7.0
    ;;
  test)
    "${install[@]}" -r tools/requirements-test.txt
    # For an ONNX file in it: the network of the Triton model text_detector.
    "${install[@]}" --no-deps rapidocr-onnxruntime==1.4.4
    ;;
  docs) "${install[@]}" -r tools/requirements-docs.txt ;;
  bench)
    # One after another: a peer that is not on offer here is missed by the benchmarks alone, which say so.
    grep -v '^#' tools/requirements-bench.txt | while read -r requirement; do
      "${install[@]}" "$requirement" || echo "$requirement is not on offer here; the benchmarks go without it"
    done
    install_torch torchcodec==0.13.0
    ;;
esac
