# SPDX-License-Identifier: Apache-2.0
# Families of forces register themselves by where they are: nothing lists them but what is made here from the
# folders of src/computes.
#   x/family.cpp   defines make_x_family() (computes/force_family.h)
#   x/host.cpp     defines add_x_kernels(HostKernels&), its twin in x/*.cu the same for CudaKernels
# `x` is the last part of the folder's name.

# A layer for each folder of `parent` that no quiltmd_layer() names: quiltmd_families(parent SEES folder...).
function(quiltmd_families parent)
  file(GLOB folders RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS ${parent}/*)
  foreach(folder IN LISTS folders)
    string(REPLACE "/" "_" name ${folder})
    if(IS_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/${folder} AND NOT TARGET quiltmd_${name}_interface)
      quiltmd_layer(${folder} ${ARGN})
    endif()
  endforeach()
  quiltmd_registry(${parent})
endfunction()

# The functions `before`x`after`(type) of all folders under `parent` that have a file of this name: in
# `declarations` those, in `calls` the text made of the function's name.
macro(quiltmd_found parent file before after result argument)
  file(GLOB_RECURSE found RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/${parent} CONFIGURE_DEPENDS
       ${CMAKE_CURRENT_SOURCE_DIR}/${parent}/${file})
  list(SORT found)
  set(functions "")
  set(declarations "")
  foreach(one IN LISTS found)
    get_filename_component(folder ${one} DIRECTORY)
    get_filename_component(folder ${folder} NAME)
    list(APPEND functions ${before}${folder}${after})
    string(APPEND declarations "${result} ${before}${folder}${after}(${argument});\n")
  endforeach()
endmacro()

function(quiltmd_registry parent)
  set(target ${CMAKE_CURRENT_BINARY_DIR}/${parent})
  set(made "// Made by cmake/families.cmake.\n")

  quiltmd_found(${parent} family.cpp make_ _family
                "std::unique_ptr<ForceFamily>" "const FamilySetup&")
  list(JOIN functions ", " makers)
  file(CONFIGURE OUTPUT ${target}/family_makers.cpp CONTENT "${made}\
#include \"computes/force_family.h\"\n\nnamespace quiltmd {\n\n${declarations}
std::vector<FamilyMaker> family_makers() { return {${makers}}; }\n\n}  // namespace quiltmd\n")

  foreach(kind host cuda)
    set(table CudaKernels)
    set(ending cu)
    if(kind STREQUAL host)
      set(table HostKernels)
      set(ending cpp)
    endif()
    quiltmd_found(${parent} host.cpp add_ _kernels void "${table}& table")
    list(JOIN functions "(table);\n  " calls)
    file(CONFIGURE OUTPUT ${target}/${kind}_kernels.${ending} CONTENT "${made}\
#include \"device/${kind}/kernels.h\"\n\nnamespace quiltmd {\n\n${declarations}
void add_${parent}_kernels(${table}& table) {\n  ${calls}(table);\n}\n\n}  // namespace quiltmd\n")
  endforeach()

  set(interface quiltmd_${parent}_interface)
  quiltmd_objects(quiltmd_${parent}_registry ${interface}
                  "${target}/family_makers.cpp;${target}/host_kernels.cpp")
  if(QUILTMD_CUDA_FOUND)
    quiltmd_objects(quiltmd_${parent}_registry_cuda ${interface} ${target}/cuda_kernels.cu)
  endif()
endfunction()
