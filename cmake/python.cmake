# SPDX-License-Identifier: Apache-2.0
# Finds Python's headers (from 3.12 on those of the stable interface, so that one package serves all
# later versions) and nanobind. scikit-build-core names both; without it ask Python itself.
set(Python_FIND_VIRTUALENV FIRST)
find_package(Python 3.10 COMPONENTS Interpreter Development.Module
             OPTIONAL_COMPONENTS ${SKBUILD_SABI_COMPONENT})
if(NOT Python_FOUND)
  message(FATAL_ERROR "Python 3.10 or newer with its headers (Python.h) is needed: "
                      "install them, for instance by `apt-get install python3-dev`.")
endif()
if(NOT nanobind_DIR AND NOT nanobind_ROOT)
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
                  OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
find_package(nanobind CONFIG REQUIRED)
