#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs PyTorch for its tests where a build without CUDA is on offer; gigabytes of CUDA packages are not worth them.
set -euo pipefail
cd "$(dirname "$0")/.."

pip=(.venv/bin/python -m pip --disable-pip-version-check)
requirement=torch==2.13.0
if .venv/bin/python -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)'; then
  echo "torch is installed"
elif ! plan=$("${pip[@]}" install --dry-run --quiet --report - "$requirement" 2>/dev/null); then
  echo "$requirement is not on offer here; its tests are skipped"
elif .venv/bin/python -c '
import json, sys
names = [item["metadata"]["name"] for item in json.load(sys.stdin)["install"]]
sys.exit(any(name.startswith(("nvidia-", "triton")) for name in names))' <<<"$plan"; then
  "${pip[@]}" install --quiet "$requirement"
  echo "installed $requirement"
else
  echo "$requirement comes with CUDA packages here; its tests are skipped"
fi
