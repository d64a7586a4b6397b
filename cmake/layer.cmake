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
    quiltmd_objects(${target}_cuda ${target}_interface "${cuda_sources}")
  endif()
  quiltmd_objects(${target} ${target}_interface "${sources}")
  if(sources)
    quiltmd_precompile(${target})
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

# Headers of the standard library, which take a fifth of the time of most sources, are read once. Not with ccache,
# which keeps nothing that is compiled so, and not with sanitizers, from which some sources are excepted.
function(quiltmd_precompile target)
  if(CMAKE_CXX_COMPILER_LAUNCHER OR QUILTMD_SANITIZE)
    return()
  endif()
  get_property(first GLOBAL PROPERTY QUILTMD_PRECOMPILED)
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE
      <algorithm> <array> <cmath> <cstdint> <cstring> <functional> <map> <memory> <optional> <set>
      <span> <stdexcept> <string> <thread> <vector>)
    set_property(GLOBAL PROPERTY QUILTMD_PRECOMPILED ${target})
  endif()
endfunction()
