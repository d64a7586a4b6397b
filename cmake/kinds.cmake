# SPDX-License-Identifier: Apache-2.0
# Integrators, thermostats and barostats register themselves by where they are: nothing lists them but what is
# made here from the files of some folders of src/integrators.
#   schemes/x.cpp       defines x_integrator(), an IntegratorKind (integrators/plans.h)
#   thermostats/x.cpp   defines x_thermostat(), a ThermostatKind
#   barostats/x.cpp     defines x_barostat(), a BarostatKind
# `x` is the name by which settings choose it.

# A file of the registry: the kinds of `type` by name, what is in `folder` being called x_`noun`.
function(quiltmd_kinds folder noun type)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
  set(declarations "")
  set(rows "")
  foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    string(APPEND declarations "${type} ${name}_${noun}();\n")
    string(APPEND rows "      {\"${name}\", ${name}_${noun}()},\n")
  endforeach()
  set(target ${CMAKE_CURRENT_BINARY_DIR}/${folder}/kinds.cpp)
  file(CONFIGURE OUTPUT ${target} CONTENT "// Made by cmake/kinds.cmake.
#include \"integrators/plans.h\"\n\nnamespace quiltmd {\n\n${declarations}
const ByName<${type}>& ${noun}s() {\n  static const ByName<${type}> all = {\n${rows}  };
  return all;\n}\n\n}  // namespace quiltmd\n")
  string(REPLACE "/" "_" name ${folder})
  quiltmd_objects(quiltmd_${name}_registry quiltmd_${name}_interface ${target})
endfunction()
