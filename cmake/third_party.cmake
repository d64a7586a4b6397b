# SPDX-License-Identifier: Apache-2.0
# The vendored libraries as targets. Highway is limited to the instruction sets worth their compile
# time: SSE4, AVX2 and AVX-512 (AVX3 in its words) on x86, NEON on Arm.
set(third_party ${PROJECT_SOURCE_DIR}/third_party)

add_library(quiltmd_highway STATIC
  ${third_party}/highway/hwy/abort.cc ${third_party}/highway/hwy/aligned_allocator.cc
  ${third_party}/highway/hwy/per_target.cc ${third_party}/highway/hwy/targets.cc)
target_include_directories(quiltmd_highway SYSTEM PUBLIC ${third_party}/highway)
string(JOIN "|" disabled HWY_SSE2 HWY_SSSE3 HWY_AVX3_DL HWY_AVX3_ZEN4 HWY_AVX3_SPR HWY_AVX10_2
       HWY_AVX10_2_512 HWY_NEON_WITHOUT_AES HWY_NEON_BF16 HWY_ALL_SVE)
target_compile_definitions(quiltmd_highway PUBLIC "HWY_DISABLED_TARGETS=(${disabled})"
                                                  HWY_STATIC_DEFINE)
target_link_libraries(quiltmd_highway PRIVATE quiltmd_flags)

add_library(quiltmd_pocketfft INTERFACE)
target_include_directories(quiltmd_pocketfft SYSTEM INTERFACE ${third_party}/pocketfft)
# A task is one thread's work; it never starts threads of its own.
target_compile_definitions(quiltmd_pocketfft INTERFACE POCKETFFT_NO_MULTITHREADING)
