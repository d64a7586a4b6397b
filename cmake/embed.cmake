# SPDX-License-Identifier: Apache-2.0
# Headers for kernels that are compiled while a program runs, as text in the core: all src/**/compiled_*.cuh, and
# what these include. Files X.in of src/device/cuda/compiled take the place of headers X, with their folders
# (system/alchemy.h), among them those of the standard library.
function(quiltmd_embedded_headers)
  set(own ${CMAKE_CURRENT_SOURCE_DIR}/device/cuda/compiled)
  file(GLOB_RECURSE waiting RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS compiled_*.cuh)
  set(embedded "")
  set(texts "")
  while(waiting)
    list(POP_FRONT waiting name)
    list(APPEND embedded ${name})
    set(path ${CMAKE_CURRENT_SOURCE_DIR}/${name})
    if(EXISTS ${own}/${name}.in)
      set(path ${own}/${name}.in)
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    file(READ ${path} text)
    string(APPEND texts "    {\"${name}\", R\"header(${text})header\"},\n")
    file(STRINGS ${path} includes REGEX "^ *#include")
    foreach(include IN LISTS includes)
      string(REGEX REPLACE ".*[<\"]([^>\"]+)[>\"].*" "\\1" include "${include}")
      if(NOT include IN_LIST embedded AND NOT include IN_LIST waiting)
        list(APPEND waiting ${include})
      endif()
    endforeach()
  endwhile()
  set(made ${CMAKE_CURRENT_BINARY_DIR}/embedded_headers.cpp)
  file(CONFIGURE OUTPUT ${made} @ONLY CONTENT "// Made by cmake/embed.cmake.
#include \"device/cuda/run_time_compiler.h\"\n
namespace quiltmd {\n\nconst std::vector<EmbeddedHeader>& embedded_headers() {
  static const std::vector<EmbeddedHeader> all{\n${texts}  };\n  return all;\n}\n
}  // namespace quiltmd\n")
  quiltmd_objects(quiltmd_embedded_headers quiltmd_device_cuda_interface ${made})
endfunction()
