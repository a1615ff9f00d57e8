#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs PyTorch where a build without CUDA is on offer; gigabytes of CUDA packages are not worth what uses it.
# Usage: tools/install_torch.sh [ENVIRONMENT [PACKAGE ...]]   (default .venv; packages that need torch and go with it)
set -euo pipefail
cd "$(dirname "$0")/.."

python=${1:-.venv}/bin/python
pip=("$python" -m pip --disable-pip-version-check)
requirements=(torch==2.13.0 "${@:2}")
if "$python" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)'; then
  echo "torch is installed"
  [ $# -le 1 ] || "${pip[@]}" install --quiet "${requirements[@]}"
elif ! plan=$("${pip[@]}" install --dry-run --quiet --report - "${requirements[@]}" 2>/dev/null); then
  echo "${requirements[*]} is not on offer here; what needs it is left out"
elif "$python" -c '
import json, sys
names = [item["metadata"]["name"] for item in json.load(sys.stdin)["install"]]
sys.exit(any(name.startswith(("nvidia-", "triton")) for name in names))' <<<"$plan"; then
  "${pip[@]}" install --quiet "${requirements[@]}"
  echo "installed ${requirements[*]}"
else
  echo "${requirements[0]} comes with CUDA packages here; what needs it is left out"
fi
