# SPDX-License-Identifier: Apache-2.0
# tricodec_options: the flags every target of ours is compiled with.
add_library(tricodec_options INTERFACE)
# One arithmetic on every machine: nothing may be contracted to a fused multiply-add or reassociated
# (docs/reference/transform.md).
target_compile_options(tricodec_options INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Wno-sign-conversion -ffp-contract=off
  # GCC 12 sees overlapping copies in its own std::string operator+ (https://gcc.gnu.org/PR105651).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
  # GCC 13 and 14 take what a function returns by reference for a part of its argument (https://gcc.gnu.org/PR109642).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>>:-Wno-dangling-reference>
  $<$<BOOL:${TRICODEC_WERROR}>:-Werror>)
# Some toolchains link parts of the C++ runtime, or all of it, from an archive. Were those exported, the runtime's shared
# library would find them in ours when ours is what loads it, and mix them with its own.
# Not so with clang's sanitizers: they are an archive, and all libraries must find their malloc().
if(NOT TRICODEC_SANITIZE STREQUAL "FUZZ")
  target_link_options(tricodec_options INTERFACE LINKER:--exclude-libs,ALL)
endif()
if(TRICODEC_SANITIZE STREQUAL "THREAD")
  # Run with TSAN_OPTIONS=suppressions=tests/cpp/tsan.supp, which says why.
  target_compile_options(tricodec_options INTERFACE -fsanitize=thread -fno-omit-frame-pointer -g)
  target_link_options(tricodec_options INTERFACE -fsanitize=thread)
elseif(TRICODEC_SANITIZE STREQUAL "FUZZ")
  # For the programs in tests/fuzz, which only clang links.
  target_compile_options(tricodec_options INTERFACE -fsanitize=address,undefined,fuzzer-no-link
                                                    -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g1)
  target_link_options(tricodec_options INTERFACE -fsanitize=address,undefined)
elseif(TRICODEC_SANITIZE)
  target_compile_options(tricodec_options INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined
                                                    -fno-omit-frame-pointer -g)
  target_link_options(tricodec_options INTERFACE -fsanitize=address,undefined)
endif()

find_package(Threads REQUIRED)
find_package(PkgConfig QUIET)

file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/packages.txt _packages REGEX "^[a-z][^ ]* [^ ]+$")
list(TRANSFORM _packages REPLACE " .*" "")
list(JOIN _packages " " TRICODEC_PACKAGES)
# A library that is missing is an error. With a `loss`, what the build then lacks, TRICODEC_MINIMAL accepts it.
option(TRICODEC_MINIMAL "Build without Highway and the headers of NVDEC where they are missing" OFF)
function(tricodec_missing library loss)
  if(loss AND TRICODEC_MINIMAL)
    message(STATUS "${library} not found: ${loss}")
    return()
  elseif(loss)
    set(_remedy "Or build without it (${loss}): cmake -DTRICODEC_MINIMAL=ON, pip install . --config-settings=cmake.define.TRICODEC_MINIMAL=ON")
  endif()
  message(FATAL_ERROR "${library} not found. Debian and Ubuntu have all that the build needs by\n"
                      "  apt-get install ${TRICODEC_PACKAGES}\n${_remedy}")
endfunction()

# FFmpeg 5.1 (libavcodec 59.37) to 9.
set(_suffix ${TRICODEC_FFMPEG_SUFFIX})
if(NOT PKG_CONFIG_FOUND)
  tricodec_missing("pkg-config" "")
endif()
pkg_check_modules(FFMPEG QUIET IMPORTED_TARGET
                  libavformat${_suffix}>=59.27 libavcodec${_suffix}>=59.37 libavutil${_suffix}>=57.28
                  libswresample${_suffix}>=4.7)
if(NOT FFMPEG_FOUND)
  tricodec_missing("FFmpeg 5.1 or newer (libavformat, libavcodec, libavutil, libswresample)" "")
endif()

# libavfilter, for the streams of tricodec.io; libswscale, for FFmpeg's RGB (SwscaleRgb).
pkg_check_modules(AVFILTER QUIET IMPORTED_TARGET libavfilter${_suffix}>=8.44)
if(NOT AVFILTER_FOUND)
  tricodec_missing("libavfilter" "")
endif()
pkg_check_modules(SWSCALE QUIET IMPORTED_TARGET libswscale${_suffix}>=6.7)
if(NOT SWSCALE_FOUND)
  tricodec_missing("libswscale" "")
endif()

# Highway 1.0.3 or newer, for the SIMD kernels of Transform; some distributions have only its pkg-config file.
option(TRICODEC_HIGHWAY "Use Highway for SIMD kernels" ON)
set(TRICODEC_HAVE_HIGHWAY OFF)
if(TRICODEC_HIGHWAY)
  pkg_check_modules(HIGHWAY QUIET IMPORTED_TARGET libhwy>=1.0.3)
  if(HIGHWAY_FOUND)
    set(TRICODEC_HIGHWAY_TARGET PkgConfig::HIGHWAY)
    set(TRICODEC_HAVE_HIGHWAY ON)
  else()
    find_package(hwy 1.0.3 CONFIG QUIET)
    if(TARGET hwy::hwy)
      set(TRICODEC_HIGHWAY_TARGET hwy::hwy)
      set(TRICODEC_HAVE_HIGHWAY ON)
    endif()
  endif()
  if(NOT TRICODEC_HAVE_HIGHWAY)
    tricodec_missing("Highway (libhwy)" "Transform is many times slower")
  endif()
endif()

# The CUDA kernels are optional at build time and at run time; nothing of CUDA is ever linked.
if(TRICODEC_CUDA STREQUAL "OFF")
  set(TRICODEC_HAVE_NVCC OFF)
else()
  find_program(TRICODEC_NVCC nvcc HINTS /usr/local/cuda/bin)
  if(TRICODEC_NVCC)
    set(TRICODEC_HAVE_NVCC ON)
  elseif(TRICODEC_CUDA STREQUAL "ON")
    message(FATAL_ERROR "TRICODEC_CUDA=ON needs nvcc; install the CUDA toolkit or use -DTRICODEC_CUDA=OFF")
  else()
    set(TRICODEC_HAVE_NVCC OFF)
  endif()
endif()

# NVDEC through the headers of ffnvcodec (Debian: libffmpeg-nvenc-dev, else nv-codec-headers); its libraries are opened at run
# time. Without the headers there is no GPU engine, and the library says so.
option(TRICODEC_NVDEC "Build the NVDEC engine" ON)
set(TRICODEC_HAVE_NVDEC OFF)
if(TRICODEC_NVDEC AND NOT TRICODEC_CUDA STREQUAL "OFF")
  pkg_check_modules(FFNVCODEC QUIET IMPORTED_TARGET ffnvcodec>=11.1)
  if(FFNVCODEC_FOUND)
    set(TRICODEC_HAVE_NVDEC ON)
  else()
    tricodec_missing("ffnvcodec (headers of NVDEC)" "the GPU decodes nothing")
  endif()
endif()
