#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the system packages of cmake/packages.txt that this machine lacks (Debian 12, Ubuntu 24.04): what the build needs,
# or what a purpose needs beside it: tools/install_system_packages.sh [test|fuzz|docs|libraries]. Where that is not
# possible, says which they are and fails.
set -euo pipefail

there() {  # whether the machine has what cmake/packages.txt says of a package
  local name=${1#*:}
  case $1 in
    command:*) command -v "$name" ;;
    module:*) pkg-config --exists "$name" ;;
    file:*) [ -e "$name" ] ;;
    python:*) python3 -c "import $name" ;;
    header:*) [ -e "$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["include"])')/$name" ] ;;
  esac >/dev/null 2>&1
}
missing=()
while read -r package check purpose; do
  [ "$purpose" != "${1:-}" ] || there "$check" || missing+=("$package")
done < <(grep -v '^#' "$(dirname "$0")/../cmake/packages.txt")
if [ ${#missing[@]} -gt 0 ]; then
  sudo=()
  [ "$(id -u)" = 0 ] || sudo=(sudo)
  if ! command -v apt-get >/dev/null || { [ -n "${sudo[*]-}" ] && ! command -v sudo >/dev/null; }; then
    echo "error: these packages are missing and cannot be installed from here (no root, no sudo or no apt-get):" >&2
    echo "  ${missing[*]}" >&2
    echo "Install them, on Debian and Ubuntu with: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  echo "installing system packages: ${missing[*]}"
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi
python3 -c 'import sys; sys.version_info >= (3, 10) or sys.exit(
  f"error: python3 is {sys.version.split()[0]}; tricodec needs 3.10 or newer first on PATH")'
