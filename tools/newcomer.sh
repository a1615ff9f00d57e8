#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# README's commands on a system that has nothing yet, timed: tools/newcomer.sh SUITE [MIRROR], as root with debootstrap.
# It makes the distribution's smallest root with what README asks for, puts the last commit into it and runs COMMANDS
# ("make demo") there. PIP_*, *_PROXY and SSL_CERT_FILE reach the root, and files of this machine that COPY names.
set -euo pipefail
cd "$(dirname "$0")/.."

suite=${1:?usage: tools/newcomer.sh SUITE [MIRROR]}
root=$PWD/build/newcomer/$suite
components=main
[ "$suite" = bookworm ] || components=main,universe
rm -rf "$root"
mkdir -p "$root"
debootstrap --variant=minbase --components=$components --include=python3,make,g++,ca-certificates "$suite" "$root" ${2:+"$2"} \
  >"$root.log"
# shellcheck disable=SC2086  # COPY is a list
tar -c /etc/resolv.conf ${COPY:-} 2>/dev/null | tar -C "$root" -x
mkdir "$root/tricodec"
git archive HEAD | tar -C "$root/tricodec" -x
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C
TIMEFORMAT="$suite: ${COMMANDS:=make demo}: %R s, %U s + %S s of processors"
time unshare --mount sh -c "mount -t proc proc '$root/proc' && mount --rbind /dev '$root/dev' &&
  exec chroot '$root' sh -c 'cd /tricodec && $COMMANDS'"
