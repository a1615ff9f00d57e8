#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes .venv with the pinned packages of one purpose. Usage: tools/make_venv.sh test|lint
set -euo pipefail
cd "$(dirname "$0")/.."

[ -x .venv/bin/python ] || python3 -m venv .venv
pip=(.venv/bin/python -m pip --disable-pip-version-check --quiet)
case "$1" in
  test)
    "${pip[@]}" install -r tools/requirements-build.txt -r tools/requirements-test.txt
    "${pip[@]}" install --no-deps -r tools/requirements-triton.txt
    ;;
  lint)
    "${pip[@]}" install -r tools/requirements-lint.txt
    ;;
  *)
    echo "usage: tools/make_venv.sh test|lint" >&2
    exit 2
    ;;
esac
