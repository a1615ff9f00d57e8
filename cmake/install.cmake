# SPDX-License-Identifier: Apache-2.0
include(CMakePackageConfigHelpers)

install(TARGETS tricodec EXPORT tricodec-targets
        LIBRARY DESTINATION ${TRICODEC_INSTALL_LIB} ARCHIVE DESTINATION ${TRICODEC_INSTALL_LIB})
install(DIRECTORY core/include/tricodec DESTINATION ${TRICODEC_INSTALL_INCLUDE} FILES_MATCHING PATTERN "*.h")
install(EXPORT tricodec-targets FILE tricodec-config.cmake NAMESPACE tricodec::
        DESTINATION ${TRICODEC_INSTALL_LIB}/cmake/tricodec)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tricodec-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tricodec-config-version.cmake DESTINATION ${TRICODEC_INSTALL_LIB}/cmake/tricodec)

if(TRICODEC_BUILD_PYTHON AND TRICODEC_PYTHON_LAYOUT)
  install(TARGETS _tricodec LIBRARY DESTINATION tricodec)
  install(DIRECTORY python/tricodec python/PyNvVideoCodec DESTINATION .
          PATTERN "__pycache__" EXCLUDE PATTERN "*.pyc" EXCLUDE)
  # What the front ends need at run time: sources of the DALI plugin (compiled for the DALI that is found), Triton's models.
  install(DIRECTORY plugin/ DESTINATION tricodec/dali/plugin
          FILES_MATCHING PATTERN "*.cpp" PATTERN "*.h")
  install(DIRECTORY triton_backend/ DESTINATION tricodec/triton_backend
          FILES_MATCHING PATTERN "*.py")
  install(DIRECTORY model_repository/ DESTINATION tricodec/model_repository
          PATTERN "__pycache__" EXCLUDE)
endif()
