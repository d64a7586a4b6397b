# SPDX-License-Identifier: Apache-2.0
# Decides whether the cuda device is built, and with which nvcc: the one on PATH (or in
# /usr/local/cuda), else the one that the PyPI packages nvidia-cuda-nvcc, -crt, -runtime, -cccl and
# nvidia-nvvm put into site-packages. The CUDA runtime is linked statically and libcuda not at all
# (the runtime opens it when first used), so one package runs with or without a driver.
# CHECK compiles it to PTX, little optimised, the sources of a folder together: enough to see that it
# compiles, where no GPU will run it (CI).
set(QUILTMD_CUDA AUTO CACHE STRING "Build the cuda device: AUTO, ON, OFF or CHECK")
set(QUILTMD_CUDA_ARCHITECTURES "" CACHE STRING
    "GPU architectures, e.g. 80;90;100;120 for a release; empty: of the GPU here alone, else 90")
set(QUILTMD_CUDA_FOUND OFF)
if(NOT QUILTMD_CUDA)  # OFF in any spelling
  return()
endif()

find_program(QUILTMD_NVCC nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin
             NO_CMAKE_SYSTEM_PATH)
if(NOT QUILTMD_NVCC)
  execute_process(COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/find_cuda_wheels.py
                  OUTPUT_VARIABLE wheels OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(wheels)
    set(QUILTMD_NVCC ${wheels}/bin/nvcc)
    # nvcc looks for its libraries in lib64, the packages put them into lib.
    string(APPEND CMAKE_CUDA_FLAGS " -L${wheels}/lib")
  endif()
endif()
if(NOT QUILTMD_NVCC)
  if(QUILTMD_CUDA STREQUAL "AUTO")
    message(STATUS "quiltmd: no nvcc found, building without the cuda device")
    return()
  endif()
  message(FATAL_ERROR "QUILTMD_CUDA=${QUILTMD_CUDA} but no nvcc: put it on PATH or "
                      "`pip install nvidia-cuda-nvcc nvidia-cuda-runtime nvidia-cuda-cccl`.")
endif()

set(QUILTMD_CUDA_RELEASE ON)  # for others' GPUs
if(NOT QUILTMD_CUDA_ARCHITECTURES)
  set(QUILTMD_CUDA_RELEASE OFF)
  set(QUILTMD_CUDA_ARCHITECTURES 90)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                  OUTPUT_VARIABLE capability ERROR_QUIET)
  if(capability MATCHES "^([0-9]+)\\.([0-9]+)")
    set(QUILTMD_CUDA_ARCHITECTURES ${CMAKE_MATCH_1}${CMAKE_MATCH_2}-real)
  endif()
endif()
# Machine code runs on later GPUs of the same major number only; for all others the PTX of the last
# architecture goes along, which their driver compiles when the program first runs.
set(CMAKE_CUDA_ARCHITECTURES ${QUILTMD_CUDA_ARCHITECTURES})
list(POP_BACK CMAKE_CUDA_ARCHITECTURES last)
list(TRANSFORM CMAKE_CUDA_ARCHITECTURES APPEND -real REGEX "^[0-9]+[af]?$")
list(APPEND CMAKE_CUDA_ARCHITECTURES ${last})
if(QUILTMD_CUDA STREQUAL "CHECK")
  string(REGEX MATCH "^[0-9]+[af]?" last ${last})
  set(CMAKE_CUDA_ARCHITECTURES ${last}-virtual)
  set(CMAKE_CUDA_FLAGS_RELEASE "-O0 -DNDEBUG")  # of host code: kernels have an option of their own in flags.cmake
endif()
set(CMAKE_CUDA_COMPILER ${QUILTMD_NVCC})
set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake before 3.26 cannot ask nvcc for C++20
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
set(QUILTMD_CUDA_FOUND ON)
message(STATUS "quiltmd: cuda device for sm_${QUILTMD_CUDA_ARCHITECTURES} by ${QUILTMD_NVCC}")
