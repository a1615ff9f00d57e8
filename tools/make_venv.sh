#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the environment of one purpose with its pinned packages: .venv, for the benchmarks' peers .venv-bench, for the
# documentation's site .venv-docs.
# Usage: tools/make_venv.sh demo|test|lint|libraries|bench|docs
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.venv
case "${1:-}" in bench | docs) venv=.venv-$1 ;; esac
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
pip=("$venv/bin/python" -m pip --disable-pip-version-check --quiet)
case "${1:-}" in
  demo)
    "${pip[@]}" install -r tools/requirements-build.txt -r tools/requirements-demo.txt
    "${pip[@]}" install --no-deps -r tools/requirements-triton.txt
    ;;
  test)
    "${pip[@]}" install -r tools/requirements-test.txt
    "${pip[@]}" install --no-deps -r tools/requirements-network.txt
    # Earlier lists of packages brought it: it makes each import of jsonschema, as in Ray's processes, 1.5 s longer.
    "${pip[@]}" uninstall -y rfc3987-syntax 2>/dev/null
    ;;
  lint)
    "${pip[@]}" install -r tools/requirements-lint.txt
    ;;
  libraries)
    "${pip[@]}" install -r tools/requirements-libraries.txt
    ;;
  bench)
    # One after another: a peer that is not on offer here is missed by the benchmarks alone, which say so.
    grep -v '^#' tools/requirements-bench.txt | while read -r requirement; do
      "${pip[@]}" install "$requirement" || echo "$requirement is not on offer here; the benchmarks go without it"
    done
    tools/install_torch.sh "$venv" torchcodec==0.13.0
    ;;
  docs)
    "${pip[@]}" install -r tools/requirements-docs.txt
    ;;
  *)
    echo "usage: tools/make_venv.sh demo|test|lint|libraries|bench|docs" >&2
    exit 2
    ;;
esac
