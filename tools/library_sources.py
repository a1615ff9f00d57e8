# SPDX-License-Identifier: Apache-2.0
"""The libraries that tricodec's wheel carries: versions, archives and how each is built.

Archives are Debian's, and Debian's index gives their SHA-256. Where Debian keeps the authors' signature beside it, the
archive is the authors' own, byte for byte, and the authors' address is a mirror of it.
"""

from __future__ import annotations

import dataclasses

DEBIAN = ("http://deb.debian.org/debian/pool/main", "https://ftp.debian.org/debian/pool/main")


@dataclasses.dataclass(frozen=True)
class Source:
    """One library.

    Attributes:
        name: how messages call it; the folder of its licence texts.
        version: of the release.
        pool: the archive's path below a Debian mirror's pool.
        sha256: of the archive.
        system: "configure", "meson", "cmake" or "make"; the builder of tools/build_libraries.py.
        options: what the builder is told beside the prefix, -O3, position-independent code and static archives.
        folder: where in the archive the build description lies.
        licenses: the files that tell under which terms it may be passed on.
        spdx: these terms as an SPDX expression; of FFmpeg those without GPL encoders.
        mirrors: further addresses of the same archive.
        pkg_config: libraries for a .pc file, where the library installs none.
    """

    name: str
    version: str
    pool: str
    sha256: str
    system: str
    licenses: tuple[str, ...]
    spdx: str
    options: tuple[str, ...] = ()
    folder: str = "."
    mirrors: tuple[str, ...] = ()
    pkg_config: tuple[str, str] | None = None

    @property
    def archive(self) -> str:
        """The file's name."""
        return self.pool.rsplit("/", 1)[1]

    @property
    def addresses(self) -> list[str]:
        """Where it is to be had, the nearest first."""
        return [*(f"{root}/{self.pool}" for root in DEBIAN), *self.mirrors]


# The encoders that FFmpeg has from other libraries, with their Debian packages; x264 and x265 make the whole GPL.
ENCODERS = {
    "libx264": "libx264-dev",
    "libx265": "libx265-dev",
    "libsvtav1": "libsvtav1enc-dev",
    "libvpx": "libvpx-dev",
    "libopus": "libopus-dev",
    "libmp3lame": "libmp3lame-dev",
}
GPL_ENCODERS = {"libx264", "libx265"}
# In the names of FFmpeg's libraries: a program that has another FFmpeg loaded keeps the two apart.
FFMPEG_SUFFIX = "-tricodec"

FFMPEG_OPTIONS = (
    "--enable-shared",
    "--disable-static",
    f"--build-suffix={FFMPEG_SUFFIX}",
    # Nothing that happens to be installed: what is wanted is named.
    "--disable-autodetect",
    "--enable-zlib",
    "--enable-libdav1d",
    "--enable-ffnvcodec",
    "--enable-nvenc",
    "--enable-nvdec",
    "--enable-cuvid",
    # tricodec opens no socket.
    "--disable-network",
    # The programs ffmpeg and ffprobe are built: they are the tests' oracle. The wheel goes without any.
    "--disable-ffplay",
    "--disable-doc",
    "--disable-debug",
)

# In the order of building: FFmpeg takes dav1d and the headers of NVIDIA's codecs.
SOURCES = (
    Source(
        "dav1d",
        "1.5.4",
        "d/dav1d/dav1d_1.5.4.orig.tar.xz",
        "686616b7c69eb88d44459391ab25cac13b6647a3b288835c5784e71c1514a5c5",
        "meson",
        ("COPYING",),
        "BSD-2-Clause",
        ("-Denable_tools=false", "-Denable_tests=false"),
        mirrors=("https://downloads.videolan.org/pub/videolan/dav1d/1.5.4/dav1d-1.5.4.tar.xz",),
    ),
    Source(
        "nv-codec-headers",
        "12.1.14.0",
        "n/nv-codec-headers/nv-codec-headers_12.1.14.0.orig.tar.xz",
        "0ca1a0c85b149646fa6ce4d600584507fdccf5a23d58e668d8701e89cee0c3fb",
        "make",
        (),  # each header carries its own
        "MIT",
    ),
    Source(
        "zstd",
        "1.5.7",
        "libz/libzstd/libzstd_1.5.7+dfsg.orig.tar.xz",
        "0c092ef267edce57ba7f3f2645c861f72eaf5e76273c6c3632869423464b90a5",
        "cmake",
        ("LICENSE",),
        "BSD-3-Clause",
        ("-DZSTD_BUILD_PROGRAMS=OFF", "-DZSTD_BUILD_SHARED=OFF", "-DZSTD_BUILD_TESTS=OFF"),
        folder="build/cmake",
    ),
    Source(
        "lz4",
        "1.10.0",
        "l/lz4/lz4_1.10.0.orig.tar.gz",
        "537512904744b35e232912055ccf8ec66d768639ff3abe5788d90d792ec5f48b",
        "cmake",
        ("lib/LICENSE",),
        "BSD-2-Clause",
        ("-DBUILD_STATIC_LIBS=ON", "-DLZ4_BUILD_CLI=OFF"),
        folder="build/cmake",
    ),
    Source(
        "libdeflate",
        "1.23",
        "libd/libdeflate/libdeflate_1.23.orig.tar.gz",
        "1ab18349b9fb0ce8a0ca4116bded725be7dcbfa709e19f6f983d99df1fb8b25f",
        "cmake",
        ("COPYING",),
        "MIT",
        ("-DLIBDEFLATE_BUILD_SHARED_LIB=OFF", "-DLIBDEFLATE_BUILD_GZIP=OFF"),
    ),
    # GCC makes the loop that decompresses half as fast as Clang does (docs/howto/packaging.md).
    Source(
        "snappy",
        "1.2.2",
        "s/snappy/snappy_1.2.2.orig.tar.gz",
        "90f74bc1fbf78a6c56b3c4a082a05103b3a56bb17bca1a27e052ea11723292dc",
        "cmake",
        ("COPYING",),
        "BSD-3-Clause",
        (
            "-DSNAPPY_BUILD_TESTS=OFF",
            "-DSNAPPY_BUILD_BENCHMARKS=OFF",
            "-DCMAKE_C_COMPILER=clang",
            "-DCMAKE_CXX_COMPILER=clang++",
        ),
        pkg_config=("snappy", "-lsnappy -lstdc++"),
    ),
    Source(
        "ffmpeg",
        "8.1.2",
        "f/ffmpeg/ffmpeg_8.1.2.orig.tar.xz",
        "464beb5e7bf0c311e68b45ae2f04e9cc2af88851abb4082231742a74d97b524c",
        "configure",
        ("LICENSE.md", "COPYING.LGPLv2.1", "COPYING.GPLv2"),
        "LGPL-2.1-or-later",
        FFMPEG_OPTIONS,
        mirrors=("https://ffmpeg.org/releases/ffmpeg-8.1.2.tar.xz",),
    ),
)
