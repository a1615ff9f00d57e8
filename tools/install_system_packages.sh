#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the system packages that the build and the tests need and this machine lacks (Debian 12, Ubuntu 24.04). Where
# that is not possible, says which they are and fails. With the argument "test" also what the tests need. With "libraries"
# also what compiles the codec libraries of the wheel, and the encoders that these take from the system. With "fuzz" also
# a clang with libFuzzer. With "docs" also doxygen and Graphviz. With "aarch64" also what compiles and runs for such
# machines.
set -euo pipefail

missing=()
have() { command -v "$1" >/dev/null 2>&1; }
there() {  # whether the machine has what cmake/packages.txt says of a package
  case $1 in
    command:*) have "${1#*:}" ;;
    module:*) have pkg-config && pkg-config --exists "${1#*:}" ;;
    python:*) python3 -c "import ${1#*:}" 2>/dev/null ;;
    header:*) python3 -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_paths()["include"], sys.argv[1])))' "${1#*:}" 2>/dev/null ;;
  esac
}
while read -r package check; do
  there "$check" || missing+=("$package")
done < <(grep -v '^#' "$(dirname "$0")/../cmake/packages.txt")
if [ "${1:-}" = test ]; then
  for tool in valgrind lz4 zstd gzip; do have "$tool" || missing+=("$tool"); done  # the tests' oracles
  if ! have pkg-config || ! pkg-config --exists gtest; then missing+=(libgtest-dev); fi
fi
if [ "${1:-}" = fuzz ]; then
  # clang 16 is the first that compiles tricodec; distributions name theirs clang-16, clang-18, ...
  usable=
  for version in $(seq 40 -1 16); do
    if have "clang++-$version"; then
      usable=$version
      break
    fi
  done
  if [ -z "$usable" ]; then
    usable=$(apt-cache search --names-only '^clang-[0-9]+$' 2>/dev/null | sed 's/^clang-\([0-9]*\).*/\1/' | sort -n |
      awk '$1 >= 16' | head -1)
    usable=${usable:-16}
    missing+=("clang-$usable")
  fi
  if ! echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
    "clang++-$usable" -fsanitize=fuzzer,address -x c++ -o /dev/null - 2>/dev/null; then
    missing+=("libclang-rt-$usable-dev")
  fi
fi
if [ "${1:-}" = aarch64 ]; then
  have aarch64-linux-gnu-g++ || missing+=(g++-aarch64-linux-gnu)
  have qemu-aarch64-static || missing+=(qemu-user-static)
  have dpkg-deb || missing+=(dpkg)
  [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || missing+=(debian-archive-keyring)
fi
if [ "${1:-}" = docs ]; then
  have doxygen || missing+=(doxygen)
  have dot || missing+=(graphviz)
fi
if [ "${1:-}" = libraries ]; then
  for tool in make nasm; do have "$tool" || missing+=("$tool"); done
  have clang++ || missing+=(clang)
  for package in x264:libx264-dev x265:libx265-dev SvtAv1Enc:libsvtav1enc-dev vpx:libvpx-dev opus:libopus-dev; do
    if ! have pkg-config || ! pkg-config --exists "${package%%:*}"; then missing+=("${package##*:}"); fi
  done
  # LAME and zlib may come without a pkg-config file.
  for header in lame/lame.h:libmp3lame-dev zlib.h:zlib1g-dev; do
    if ! have g++ || ! echo "#include <${header%%:*}>" | g++ -include cstdio -x c++ -fsyntax-only - 2>/dev/null; then
      missing+=("${header##*:}")
    fi
  done
fi
if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" = 0 ]; then
    sudo=()
  elif have sudo; then
    sudo=(sudo)
  else
    sudo=(unavailable)
  fi
  if ! have apt-get || [ "${sudo[*]-}" = unavailable ]; then
    echo "error: these packages are missing and cannot be installed from here (no root, no sudo or no apt-get):" >&2
    echo "  ${missing[*]}" >&2
    echo "Install them, on Debian and Ubuntu with: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  echo "installing system packages: ${missing[*]}"
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi

python3 - <<'PYTHON'
import sys
if sys.version_info < (3, 10):
    sys.exit(f"error: python3 is {sys.version.split()[0]}; tricodec needs 3.10 or newer first on PATH")
PYTHON
