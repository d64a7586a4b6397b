# SPDX-License-Identifier: Apache-2.0
# One set of compile options for all our sources.
# No contraction: a*b+c is fused only where the source says so, so that every variant of a kernel
# gives the same bits. The x86 floor is SSE4.2 (any machine since 2010); faster instruction sets are
# chosen at run time by Highway.
add_library(quiltmd_flags INTERFACE)
target_include_directories(quiltmd_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(quiltmd_flags INTERFACE Threads::Threads)

set(cpp_options -O3 -ffp-contract=off -fno-math-errno -Wall -Wextra)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  list(APPEND cpp_options -msse4.2 -maes -mpclmul)
endif()
set(cuda_options -fmad=false --expt-relaxed-constexpr -lineinfo -Xcompiler=-ffp-contract=off)
# GPU code is most of a package for several architectures; this takes a quarter of the room that it
# takes by default. Needs the driver that CUDA 13 needs anyway.
if(QUILTMD_CUDA_RELEASE AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  list(APPEND cuda_options --compress-mode=size)
endif()
if(QUILTMD_CUDA STREQUAL "CHECK" AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.9)
  list(APPEND cuda_options --Ofast-compile=max)
endif()
# For tests (make sanitize, make tsan): a finding ends the program.
set(QUILTMD_SANITIZE "" CACHE STRING "sanitizers of host code, as -fsanitize takes them")
set(QUILTMD_SANITIZE_LEVEL "-O1" CACHE STRING "how far sanitized code is optimised")
if(QUILTMD_SANITIZE)
  list(APPEND cpp_options ${QUILTMD_SANITIZE_LEVEL} -g -fno-omit-frame-pointer -fsanitize=${QUILTMD_SANITIZE}
       -fno-sanitize-recover=all)
  target_link_options(quiltmd_flags INTERFACE -fsanitize=${QUILTMD_SANITIZE})
endif()
target_compile_options(quiltmd_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${cpp_options}>"
                                               "$<$<COMPILE_LANGUAGE:CUDA>:${cuda_options}>")

# Sources of tests, whose time is spent in the core, not in themselves: optimising them no further than -O1 halves
# the time that compiling them takes. (Options of a source follow those of its target.)
function(quiltmd_compile_quickly)
  if(NOT QUILTMD_SANITIZE)
    set_source_files_properties(${ARGV} PROPERTIES COMPILE_OPTIONS -O1)
  endif()
endfunction()
