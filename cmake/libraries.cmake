# SPDX-License-Identifier: Apache-2.0
# TRICODEC_LIBRARIES: the codec libraries of tools/build_libraries.sh in place of the system's
# (docs/start/install.md). They are linked from there, and what is shared among them is installed beside
# libtricodec.so.
set(TRICODEC_LIBRARIES "" CACHE PATH "Prefix of tools/build_libraries.sh; empty for the system's libraries")
set(TRICODEC_FFMPEG_SUFFIX "")
if(NOT TRICODEC_LIBRARIES)
  return()
endif()
if(NOT EXISTS ${TRICODEC_LIBRARIES}/share/tricodec/ffmpeg)
  message(FATAL_ERROR "TRICODEC_LIBRARIES=${TRICODEC_LIBRARIES} has no libraries; run tools/build_libraries.sh ${TRICODEC_LIBRARIES}")
endif()
# As tools/build_libraries.sh has it.
set(TRICODEC_FFMPEG_SUFFIX "-tricodec")
set(ENV{PKG_CONFIG_PATH} "${TRICODEC_LIBRARIES}/lib/pkgconfig:$ENV{PKG_CONFIG_PATH}")

# Under the names that the loader looks for: wheels cannot hold the symbolic links of a versioned library.
file(GLOB _shared ${TRICODEC_LIBRARIES}/lib/lib*${TRICODEC_FFMPEG_SUFFIX}.so.*)
list(FILTER _shared INCLUDE REGEX "\\.so\\.[0-9]+$")
foreach(_link IN LISTS _shared)
  get_filename_component(_name ${_link} NAME)
  get_filename_component(_file ${_link} REALPATH)
  install(PROGRAMS ${_file} DESTINATION ${TRICODEC_INSTALL_LIB} RENAME ${_name})
endforeach()
if(TRICODEC_PYTHON_LAYOUT)
  install(DIRECTORY ${TRICODEC_LIBRARIES}/share/licenses DESTINATION tricodec)
else()
  install(DIRECTORY ${TRICODEC_LIBRARIES}/share/licenses/ DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/tricodec)
endif()
