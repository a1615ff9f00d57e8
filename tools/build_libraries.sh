#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles the codec libraries that tricodec's wheel carries into a prefix: tools/build_libraries.sh PREFIX
#
# A library that the prefix has in this version, built by this command, is not built again. Archives come from Debian's
# mirrors or their authors and must have the SHA-256 given here; those that PREFIX/archives holds are not fetched again.
# TRICODEC_LGPL=1 leaves out x264 and x265, which make FFmpeg, and so the wheel as a whole, GPL. Needs a compiler, clang,
# make, nasm (on x86-64), pkg-config, curl, meson, ninja and cmake.
set -euo pipefail
prefix=$(realpath -m "${1:?usage: tools/build_libraries.sh PREFIX}")
jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig" CFLAGS="-O3 -fPIC" CXXFLAGS="-O3 -fPIC"
mkdir -p "$prefix"/{archives,work,lib/pkgconfig,share/tricodec,share/licenses}

# fetch SHA256 ADDRESS...: PREFIX/archives has the archive afterwards, with these bytes.
fetch() {
  local archive=$prefix/archives/${2##*/}
  for address in "" "${@:2}"; do
    [ -z "$address" ] || curl -fsSL --retry 2 -o "$archive" "$address" || continue
    if sha256sum --check --status <<<"$1  $archive" 2>/dev/null; then return; fi
  done
  echo "error: no address has ${2##*/} with the SHA-256 $1; put it into $prefix/archives" >&2
  return 1
}

# library NAME ARCHIVE SHA256 COMMAND...: runs the command in the unpacked archive and keeps the licenses. ARCHIVE is a
# path below a Debian mirror's pool, and with a space behind it the authors' address of an archive that Debian may drop.
library() {
  local name=$1 source=$2 sha256=$3 log=$prefix/work/$1.log addresses
  shift 3
  [ "$(cat "$prefix/share/tricodec/$name" 2>/dev/null)" != "$source $*" ] || return 0
  echo "== $name"
  read -ra addresses <<<"http://deb.debian.org/debian/pool/main/$source"
  fetch "$sha256" "${addresses[@]}"
  rm -rf "${prefix:?}/work/$name" "$prefix/share/licenses/$name"
  mkdir -p "$prefix/work/$name" "$prefix/share/licenses/$name"
  tar -xf "$prefix/archives/${addresses[0]##*/}" --strip-components=1 -C "$prefix/work/$name"
  (cd "$prefix/work/$name" && set -e && "$@") >"$log" 2>&1 || { tail -n 20 "$log" >&2; echo "error: see $log" >&2; exit 1; }
  find "$prefix/work/$name" -maxdepth 2 -regex '.*/\(COPYING\|LICENSE\)[^/]*' -exec cp {} "$prefix/share/licenses/$name" \;
  echo "$source $*" >"$prefix/share/tricodec/$name"
}

with_cmake() {  # FOLDER OPTION...
  cmake -S "$1" -B b -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_POLICY_VERSION_MINIMUM=3.5 -DBUILD_SHARED_LIBS=OFF "${@:2}"
  cmake --build b -j "$jobs" --target install
}
with_configure() {  # OPTION...
  ./configure --prefix="$prefix" "$@"
  make -j "$jobs"
  make install
}
with_meson() {  # OPTION...
  meson setup b --buildtype=release --default-library=static --libdir=lib --prefix="$prefix" "$@"
  ninja -C b -j "$jobs" install
}
# GCC makes the loop that decompresses half as fast as Clang does.
with_clang() {
  CXX=$(compgen -c | grep -E '^clang\+\+(-[0-9]+)?$' | sort -V | tail -n 1) with_cmake "$@"
  printf 'prefix=%s\nName: snappy\nDescription: Snappy\nVersion: 1.2.2\nLibs: -L${prefix}/lib -lsnappy -lstdc++\nCflags: -I${prefix}/include\n' \
    "$prefix" >"$prefix/lib/pkgconfig/snappy.pc"
}
# One library for samples of 8, 10 and 12 bits.
x265() {
  local common=(-DENABLE_SHARED=OFF -DENABLE_CLI=OFF)
  for bits in 10 12; do
    cmake -S source -B "b$bits" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
      -DCMAKE_POLICY_VERSION_MINIMUM=3.5 "${common[@]}" -DEXPORT_C_API=OFF -DHIGH_BIT_DEPTH=ON -DMAIN12=$((bits == 12))
    cmake --build "b$bits" -j "$jobs"
  done
  with_cmake source "${common[@]}" -DLINKED_10BIT=ON -DLINKED_12BIT=ON
  printf 'create all.a\naddlib b/libx265.a\naddlib b10/libx265.a\naddlib b12/libx265.a\nsave\nend\n' | ar -M
  cp all.a "$prefix/lib/libx265.a"
}
no_build() { make PREFIX="$prefix" install; }

library dav1d "d/dav1d/dav1d_1.5.4.orig.tar.xz https://downloads.videolan.org/pub/videolan/dav1d/1.5.4/dav1d-1.5.4.tar.xz" \
  686616b7c69eb88d44459391ab25cac13b6647a3b288835c5784e71c1514a5c5 with_meson -Denable_tools=false -Denable_tests=false
library nv-codec-headers n/nv-codec-headers/nv-codec-headers_12.1.14.0.orig.tar.xz \
  0ca1a0c85b149646fa6ce4d600584507fdccf5a23d58e668d8701e89cee0c3fb no_build
library zstd libz/libzstd/libzstd_1.5.7+dfsg.orig.tar.xz \
  0c092ef267edce57ba7f3f2645c861f72eaf5e76273c6c3632869423464b90a5 \
  with_cmake build/cmake -DZSTD_BUILD_PROGRAMS=OFF -DZSTD_BUILD_SHARED=OFF -DZSTD_BUILD_TESTS=OFF
library lz4 l/lz4/lz4_1.10.0.orig.tar.gz 537512904744b35e232912055ccf8ec66d768639ff3abe5788d90d792ec5f48b \
  with_cmake build/cmake -DBUILD_STATIC_LIBS=ON -DLZ4_BUILD_CLI=OFF
library libdeflate libd/libdeflate/libdeflate_1.23.orig.tar.gz \
  1ab18349b9fb0ce8a0ca4116bded725be7dcbfa709e19f6f983d99df1fb8b25f \
  with_cmake . -DLIBDEFLATE_BUILD_SHARED_LIB=OFF -DLIBDEFLATE_BUILD_GZIP=OFF
library snappy s/snappy/snappy_1.2.2.orig.tar.gz 90f74bc1fbf78a6c56b3c4a082a05103b3a56bb17bca1a27e052ea11723292dc \
  with_clang . -DSNAPPY_BUILD_TESTS=OFF -DSNAPPY_BUILD_BENCHMARKS=OFF
library highway h/highway/highway_1.2.0.orig.tar.gz 7e0be78b8318e8bdbf6fa545d2ecb4c90f947df03f7aadc42c1967f019e63343 \
  with_cmake . -DHWY_ENABLE_TESTS=OFF -DHWY_ENABLE_EXAMPLES=OFF -DHWY_ENABLE_CONTRIB=OFF
library libvpx libv/libvpx/libvpx_1.15.0.orig.tar.xz a6cfd199c5c567cfa4e6d991ec36690d9af801585b5db959c1494b5b15f821a5 \
  with_configure --enable-pic --enable-vp9-highbitdepth --disable-examples --disable-tools --disable-docs --disable-unit-tests
library opus o/opus/opus_1.5.2.orig.tar.gz 65c1d2f78b9f2fb20082c38cbe47c951ad5839345876e46941612ee87f9a7ce1 with_cmake .
library lame l/lame/lame_3.100.orig.tar.gz ddfe36cab873794038ae2c1210557ad34857a4b6bdc515785d1da9e175b1da1e \
  with_configure --disable-shared --disable-frontend --with-pic
library svt-av1 "s/svt-av1/svt-av1_2.3.0+dfsg.orig.tar.xz" \
  815e88cc539c41b8ebd1a6f362f82ab510147635fc6c3edfa35edcfbed302cd8 with_cmake . -DBUILD_APPS=OFF
gpl=()
if [ "${TRICODEC_LGPL:-0}" != 1 ]; then
  gpl=(--enable-gpl --enable-libx264 --enable-libx265)
  library x264 x/x264/x264_0.164.3108+git31e19f9.orig.tar.gz \
    41606cb8e788a7f8c4514290646d4ba5c7bc68d9e1ccd1a73f446a90546913eb with_configure --enable-static --enable-pic --disable-cli
  library x265 x/x265/x265_4.1.orig.tar.xz 85abb8a850000bf693947459c42a666a3ecd6de10a2ac6b3c6647554b14d3270 x265
fi
# FFmpeg's libraries are shared, so that the user of a wheel may replace them. The suffix keeps them apart from another
# FFmpeg in the same process; they find each other where they lie. tricodec opens no socket. Nothing that happens to be
# installed is taken: --disable-autodetect.
export LD_RUN_PATH="\$ORIGIN:\$ORIGIN/../lib"
library ffmpeg "f/ffmpeg/ffmpeg_8.1.2.orig.tar.xz https://ffmpeg.org/releases/ffmpeg-8.1.2.tar.xz" \
  464beb5e7bf0c311e68b45ae2f04e9cc2af88851abb4082231742a74d97b524c with_configure --enable-shared --disable-static \
  --build-suffix=-tricodec --disable-autodetect --disable-network --disable-programs --disable-doc --disable-debug \
  --pkg-config-flags=--static --extra-cflags="-I$prefix/include" --extra-ldflags="-L$prefix/lib" --extra-libs="-lm -lpthread" \
  --enable-zlib --enable-libdav1d --enable-ffnvcodec --enable-nvenc --enable-nvdec --enable-cuvid --enable-libsvtav1 \
  --enable-libvpx --enable-libopus --enable-libmp3lame ${gpl[@]+"${gpl[@]}"}
