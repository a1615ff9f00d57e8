# SPDX-License-Identifier: Apache-2.0
# tricodec_add_kernels(TARGET SOURCE [BINARY...]): compiles CUDA kernels to a fat binary for each BINARY, by default one with the
# source's name. The source knows its BINARY as TRICODEC_BINARY. TARGET carries the bytes. Nothing of CUDA is linked; the driver
# loads the bytes at run time.

# Turing to Blackwell; the PTX serves what comes between and after.
set(TRICODEC_CUDA_ARCHITECTURES 75 80 86 89 90 100 120 CACHE STRING "GPUs that the CUDA kernels are compiled for")
set(TRICODEC_CUDA_PTX 90 CACHE STRING "Compute capability of the PTX that other GPUs' drivers compile")

execute_process(COMMAND ${TRICODEC_NVCC} --list-gpu-code OUTPUT_VARIABLE _known RESULT_VARIABLE _failed)
if(_failed)
  message(FATAL_ERROR "${TRICODEC_NVCC} --list-gpu-code fails; install CUDA 11.8 or newer or use -DTRICODEC_CUDA=OFF")
endif()
string(REGEX MATCHALL "[0-9]+" _known "${_known}")
set(TRICODEC_NVCC_FLAGS)
set(TRICODEC_COMPILED_ARCHITECTURES)
foreach(_architecture IN LISTS TRICODEC_CUDA_ARCHITECTURES)
  if(_architecture IN_LIST _known)
    list(APPEND TRICODEC_NVCC_FLAGS -gencode arch=compute_${_architecture},code=sm_${_architecture})
    list(APPEND TRICODEC_COMPILED_ARCHITECTURES ${_architecture})
  else()
    message(STATUS "nvcc is too old or too new for sm_${_architecture}: no kernels for it")
  endif()
endforeach()
list(APPEND TRICODEC_NVCC_FLAGS
  -gencode arch=compute_${TRICODEC_CUDA_PTX},code=compute_${TRICODEC_CUDA_PTX}
  # One arithmetic on every machine (docs/transform.md).
  -fmad=false -ftz=false -prec-div=true
  -std=c++20 --expt-relaxed-constexpr -ccbin ${CMAKE_CXX_COMPILER} -Xfatbin -compress-all)
# A quarter smaller: zstd at its strongest. From CUDA 13 on nvcc takes zstd by itself; with older ones it would ask for a driver of
# CUDA 12.4, which these kernels do not need.
execute_process(COMMAND ${TRICODEC_NVCC} --version OUTPUT_VARIABLE _version)
if(_version MATCHES "release ([0-9]+)" AND CMAKE_MATCH_1 GREATER_EQUAL 13)
  list(APPEND TRICODEC_NVCC_FLAGS --compress-mode=size)
endif()
if(TRICODEC_WERROR)
  list(APPEND TRICODEC_NVCC_FLAGS -Werror all-warnings)
endif()

function(tricodec_add_kernels target source)
  set(names ${ARGN})
  if(NOT names)
    get_filename_component(names ${source} NAME_WE)
  endif()
  foreach(name IN LISTS names)
    set(binary ${CMAKE_CURRENT_BINARY_DIR}/${name}.fatbin)
    add_custom_command(
      OUTPUT ${binary}
      COMMAND ${TRICODEC_NVCC} -fatbin ${TRICODEC_NVCC_FLAGS} -DTRICODEC_BINARY=${name} -I ${PROJECT_SOURCE_DIR}/core
              -I ${PROJECT_SOURCE_DIR}/core/include -MD -MF ${binary}.d -MT ${binary} -o ${binary}
              ${CMAKE_CURRENT_SOURCE_DIR}/${source}
      DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source}
      DEPFILE ${binary}.d
      COMMENT "Compiling CUDA kernels ${name}"
      VERBATIM)
    # A C++ file that has the bytes as tricodec_kernels_NAME.
    set(TRICODEC_KERNELS_NAME ${name})
    set(TRICODEC_KERNELS_FILE ${binary})
    set(bytes ${CMAKE_CURRENT_BINARY_DIR}/${name}_bytes.cpp)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/kernel_bytes.cpp.in ${bytes} @ONLY)
    set_source_files_properties(${bytes} TARGET_DIRECTORY ${target} PROPERTIES OBJECT_DEPENDS ${binary})
    target_sources(${target} PRIVATE ${bytes})
    add_custom_target(${target}_kernels_${name} DEPENDS ${binary})
    add_dependencies(${target} ${target}_kernels_${name})
  endforeach()
endfunction()
