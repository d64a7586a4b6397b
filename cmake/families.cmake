# SPDX-License-Identifier: Apache-2.0
# Families of forces register themselves by where they are: nothing lists them but what is made here from the
# folders of src/computes.
#   x/family.cpp   defines x_family() (computes/force_family.h)
#   x/host.cpp     defines add_x_kernels(HostKernels&); where there are x/*.cu, one the same for CudaKernels
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

# The folders under `parent`, in order of their paths, that have a file of this name or pattern: in `found`.
macro(quiltmd_folders_with parent file)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${parent}/${file})
  list(TRANSFORM found REPLACE "/[^/]*$" "")
  list(REMOVE_DUPLICATES found)
  list(SORT found)
endmacro()

# A file of the registry that puts the kernels of these folders into a table.
macro(quiltmd_kernel_table kind table ending folders)
  set(declarations "")
  set(calls "")
  foreach(folder ${folders})
    get_filename_component(name ${folder} NAME)
    string(APPEND declarations "void add_${name}_kernels(${table}& table);\n")
    string(APPEND calls "  add_${name}_kernels(table);\n")
  endforeach()
  file(CONFIGURE OUTPUT ${target}/${kind}_kernels.${ending} CONTENT "${made}\
#include \"device/${kind}/kernels.h\"\n\nnamespace quiltmd {\n\n${declarations}
void add_${parent}_kernels(${table}& table) {\n${calls}}\n\n}  // namespace quiltmd\n")
endmacro()

function(quiltmd_registry parent)
  set(target ${CMAKE_CURRENT_BINARY_DIR}/${parent})
  set(made "// Made by cmake/families.cmake.\n")

  quiltmd_folders_with(${parent} *.cu)
  set(on_gpus ${found})
  quiltmd_folders_with(${parent} family.cpp)
  set(declarations "")
  set(adds "")
  foreach(folder IN LISTS found)
    get_filename_component(name ${folder} NAME)
    string(APPEND declarations "Family ${name}_family();\n")
    string(APPEND adds "  all.push_back(${name}_family());\n")
    if(folder IN_LIST on_gpus)
      string(APPEND adds "  all.back().on_gpus = true;\n")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${target}/force_families.cpp CONTENT "${made}\
#include \"computes/force_family.h\"\n\nnamespace quiltmd {\n\n${declarations}
std::vector<Family> force_families() {\n  std::vector<Family> all;\n${adds}  return all;\n}\n
}  // namespace quiltmd\n")

  quiltmd_folders_with(${parent} host.cpp)
  quiltmd_kernel_table(host HostKernels cpp "${found}")
  quiltmd_kernel_table(cuda CudaKernels cu "${on_gpus}")

  set(interface quiltmd_${parent}_interface)
  quiltmd_objects(quiltmd_${parent}_registry ${interface}
                  "${target}/force_families.cpp;${target}/host_kernels.cpp")
  if(QUILTMD_CUDA_FOUND)
    quiltmd_objects(quiltmd_${parent}_registry_cuda ${interface} ${target}/cuda_kernels.cu)
  endif()
endfunction()
