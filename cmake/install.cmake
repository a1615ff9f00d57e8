# SPDX-License-Identifier: Apache-2.0
include(CMakePackageConfigHelpers)

install(TARGETS tricodec EXPORT tricodec-targets
        LIBRARY DESTINATION ${TRICODEC_INSTALL_LIB} ARCHIVE DESTINATION ${TRICODEC_INSTALL_LIB})
install(DIRECTORY core/include/tricodec DESTINATION ${TRICODEC_INSTALL_INCLUDE} FILES_MATCHING PATTERN "*.h")
# The headers were side by side until 0.1: their old names forward for one minor version. Three are parts of others since.
file(GLOB_RECURSE _headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/core/include ${PROJECT_SOURCE_DIR}/core/include/tricodec/*/*.h)
foreach(_header IN LISTS _headers ITEMS parallel_copy.h:base/thread_pool.h gpu_frames.h:image/transform.h engines.h:video/frame_reader.h)
  string(REPLACE ":" ";tricodec/" _header ${_header})
  list(GET _header 0 _name)
  list(GET _header -1 _header)
  get_filename_component(_name ${_name} NAME)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/former_headers/tricodec/${_name} @ONLY
       CONTENT "// SPDX-License-Identifier: Apache-2.0\n#pragma once\n#include \"${_header}\"  // this name goes in 0.2\n")
endforeach()
# Some were in video/ until 0.1.
foreach(_header decode/decoder decode/hardware_caps encode/encode_video encode/encoder encode/transcode selection/frame_padding
                selection/frame_selection swscale/swscale_rgb)
  get_filename_component(_name ${_header} NAME)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/former_headers/tricodec/video/${_name}.h @ONLY
       CONTENT "// SPDX-License-Identifier: Apache-2.0\n#pragma once\n#include \"tricodec/${_header}.h\"  // this name goes in 0.2\n")
endforeach()
install(DIRECTORY ${PROJECT_BINARY_DIR}/former_headers/tricodec DESTINATION ${TRICODEC_INSTALL_INCLUDE}
        FILES_MATCHING PATTERN "*.h")
install(EXPORT tricodec-targets NAMESPACE tricodec:: DESTINATION ${TRICODEC_INSTALL_LIB}/cmake/tricodec)
configure_package_config_file(cmake/tricodec-config.cmake.in ${PROJECT_BINARY_DIR}/tricodec-config.cmake
                              INSTALL_DESTINATION ${TRICODEC_INSTALL_LIB}/cmake/tricodec)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tricodec-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tricodec-config.cmake ${PROJECT_BINARY_DIR}/tricodec-config-version.cmake
        DESTINATION ${TRICODEC_INSTALL_LIB}/cmake/tricodec)

if(TRICODEC_BUILD_PYTHON AND TRICODEC_PYTHON_LAYOUT)
  install(TARGETS _tricodec LIBRARY DESTINATION tricodec)
  install(TARGETS tricodec_secret_arguments LIBRARY DESTINATION tricodec/serve)
  install(DIRECTORY python/tricodec python/PyNvVideoCodec DESTINATION .
          PATTERN "__pycache__" EXCLUDE PATTERN "*.pyc" EXCLUDE PATTERN "*.cpp" EXCLUDE)
  # What the front ends need at run time: sources of the DALI plugin (compiled for the DALI that is found), Triton's models.
  install(DIRECTORY plugin/ DESTINATION tricodec/dali/plugin
          FILES_MATCHING PATTERN "*.cpp" PATTERN "*.h")
  install(DIRECTORY triton_backend/ DESTINATION tricodec/triton_backend
          FILES_MATCHING PATTERN "*.py")
  install(DIRECTORY model_repository/ DESTINATION tricodec/model_repository
          PATTERN "__pycache__" EXCLUDE)
endif()
