# SPDX-License-Identifier: Apache-2.0
# quiltmd_layer(FOLDER [SEES folder...] [USES target...])
# makes one target of a folder in src/: quiltmd_<folder, "/" as "_">. SEES names the folders whose
# headers it may include (tools/layer_check.py reads the same lines and rejects any other include),
# USES the libraries from third_party.
# Files are found by name, so that adding one needs no edit here:
#   *.cpp          compiled always, except
#   *_absent.cpp   compiled only without CUDA: says politely that a device is missing
#   *.cu           compiled only with CUDA, as a target of its own: quiltmd_<folder>_cuda
# Object libraries, not archives: a linker drops archive members that only register themselves.
function(quiltmd_layer folder)
  cmake_parse_arguments(PARSE_ARGV 1 layer "" "" "SEES;USES")
  string(REPLACE "/" "_" name ${folder})
  set(target quiltmd_${name})
  set(directory ${CMAKE_CURRENT_SOURCE_DIR}/${folder})

  set(links quiltmd_flags ${layer_USES})
  list(REMOVE_ITEM layer_SEES ${folder})
  foreach(seen IN LISTS layer_SEES)
    string(REPLACE "/" "_" seen ${seen})
    list(APPEND links quiltmd_${seen}_interface)
  endforeach()
  add_library(${target}_interface INTERFACE)
  target_link_libraries(${target}_interface INTERFACE ${links})

  file(GLOB sources CONFIGURE_DEPENDS ${directory}/*.cpp)
  file(GLOB cuda_sources CONFIGURE_DEPENDS ${directory}/*.cu)
  if(QUILTMD_CUDA_FOUND)
    list(FILTER sources EXCLUDE REGEX "_absent\\.cpp$")
    if(QUILTMD_CUDA STREQUAL "CHECK" AND cuda_sources)
      quiltmd_unite_cuda(cuda_sources ${target})
    endif()
    quiltmd_objects(${target}_cuda ${target}_interface "${cuda_sources}")
  endif()
  quiltmd_objects(${target} ${target}_interface "${sources}")
  if(sources)
    quiltmd_unite(${target} "${sources}")
  endif()
endfunction()

# An object library of the given sources, if there are any, remembered for the final link.
function(quiltmd_objects target interface sources)
  if(sources)
    add_library(${target} OBJECT ${sources})
    target_link_libraries(${target} PRIVATE ${interface})
    set_property(GLOBAL APPEND PROPERTY QUILTMD_OBJECTS ${target})
  endif()
endfunction()

# Sources of a folder are compiled ten at a time, which takes half of the time of one at a time, most of
# which is spent on headers; those that Highway compiles once for each instruction set are not. Neither
# is anything with ccache, as developers use it, who change one source again and again, nor with
# sanitizers, from which some sources are excepted: there Highway's operations, each a call without
# inlining, would take hours at -O0.
function(quiltmd_unite target sources)
  foreach(source IN LISTS sources)
    file(STRINGS ${source} for_each_target REGEX "foreach_target\\.h" LIMIT_COUNT 1)
    if(for_each_target AND QUILTMD_SANITIZE)
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -O1)
    elseif(for_each_target)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER AND NOT QUILTMD_SANITIZE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10
      UNITY_BUILD_CODE_BEFORE_INCLUDE "// NOLINTNEXTLINE(bugprone-suspicious-include)")  # for tools/tidy_units.py
  endif()
endfunction()

# For a check: one source in the place of those of a folder that nvcc compiles, as it takes some seconds for
# the headers of each. (CMake has unity builds for CUDA from 3.31 on.)
function(quiltmd_unite_cuda sources target)
  list(TRANSFORM ${sources} REPLACE "(.+)" "#include \"\\1\"\n" OUTPUT_VARIABLE includes)
  list(JOIN includes "" includes)
  set(unit ${CMAKE_CURRENT_BINARY_DIR}/${target}_cuda.cu)
  file(CONFIGURE OUTPUT ${unit} CONTENT "// Made by cmake/layer.cmake.\n${includes}")
  set(${sources} ${unit} PARENT_SCOPE)
endfunction()
