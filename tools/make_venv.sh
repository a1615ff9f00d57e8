#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the environment of one purpose with its pinned packages: .venv, and for the benchmarks' peers .venv-bench.
# Usage: tools/make_venv.sh demo|test|libraries|docs|bench
set -euo pipefail
cd "$(dirname "$0")/.."

purpose=${1:?usage: tools/make_venv.sh demo|test|libraries|docs|bench}
venv=.venv
[ "$purpose" != bench ] || venv=.venv-bench
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
install=("$venv/bin/python" -m pip --disable-pip-version-check --quiet install)
case "$purpose" in
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
  libraries | docs) "${install[@]}" -r "tools/requirements-$purpose.txt" ;;
  bench)
    # One after another: a peer that is not on offer here is missed by the benchmarks alone, which say so.
    grep -v '^#' tools/requirements-bench.txt | while read -r requirement; do
      "${install[@]}" "$requirement" || echo "$requirement is not on offer here; the benchmarks go without it"
    done
    tools/install_torch.sh "$venv" torchcodec==0.13.0
    ;;
esac
