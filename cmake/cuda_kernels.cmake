# SPDX-License-Identifier: Apache-2.0
# tricodec_add_kernels(TARGET SOURCE [BINARY...]): compiles CUDA kernels to a fat binary for each BINARY, by default one with the
# source's name. The source knows its BINARY as TRICODEC_BINARY. TARGET carries the bytes. Nothing of CUDA is linked; the driver
# loads the bytes at run time.

set(TRICODEC_CUDA_ARCHITECTURES native CACHE STRING
    "GPUs that the CUDA kernels are compiled for: native (this machine's), all, or compute capabilities such as 80;90")
set(TRICODEC_CUDA_PTX "" CACHE STRING "Compute capability of the PTX that the drivers of other GPUs compile")

set(_architectures ${TRICODEC_CUDA_ARCHITECTURES})
set(_ptx ${TRICODEC_CUDA_PTX})
if(_architectures STREQUAL "all")
  set(_architectures 75 80 86 89 90 100 120)  # Turing to Blackwell; the PTX serves what comes between and after
elseif(_architectures STREQUAL "native")
  # Each architecture takes as long to compile as all of the C++ code. Without a GPU the PTX of the oldest serves all.
  set(_architectures)
  find_program(TRICODEC_NVIDIA_SMI nvidia-smi)
  mark_as_advanced(TRICODEC_NVIDIA_SMI)
  if(TRICODEC_NVIDIA_SMI)
    execute_process(COMMAND ${TRICODEC_NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader
                    OUTPUT_VARIABLE _architectures ERROR_QUIET RESULT_VARIABLE _failed)
    string(REGEX MATCHALL "[0-9]+\\.[0-9]" _architectures "${_architectures}")
    list(TRANSFORM _architectures REPLACE "\\." "")
    list(REMOVE_DUPLICATES _architectures)
    list(SORT _architectures COMPARE NATURAL)
  endif()
  if(NOT _ptx)
    list(APPEND _ptx ${_architectures} 75)
    list(GET _ptx 0 _ptx)
  endif()
endif()
if(NOT _ptx)
  set(_ptx 90)
endif()

execute_process(COMMAND ${TRICODEC_NVCC} --list-gpu-code OUTPUT_VARIABLE _known RESULT_VARIABLE _failed)
if(_failed)
  message(FATAL_ERROR "${TRICODEC_NVCC} --list-gpu-code fails; install CUDA 11.8 or newer or use -DTRICODEC_CUDA=OFF")
endif()
string(REGEX MATCHALL "[0-9]+" _known "${_known}")
set(TRICODEC_NVCC_FLAGS)
set(TRICODEC_COMPILED_ARCHITECTURES)
set(TRICODEC_COMPILED_PTX ${_ptx})
foreach(_architecture IN LISTS _architectures)
  if(_architecture IN_LIST _known)
    list(APPEND TRICODEC_NVCC_FLAGS -gencode arch=compute_${_architecture},code=sm_${_architecture})
    list(APPEND TRICODEC_COMPILED_ARCHITECTURES ${_architecture})
  else()
    message(STATUS "nvcc is too old or too new for sm_${_architecture}: no kernels for it")
  endif()
endforeach()
list(APPEND TRICODEC_NVCC_FLAGS
  -gencode arch=compute_${_ptx},code=compute_${_ptx}
  # One arithmetic on every machine (docs/reference/transform.md).
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
