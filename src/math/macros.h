// SPDX-License-Identifier: Apache-2.0
// Function qualifiers of code that both the host compiler and nvcc compile: the physics is
// written once, in headers, and every kind of device includes them.
#pragma once

#ifdef __CUDACC__
#define QMD_HD __host__ __device__ __forceinline__
#else
#define QMD_HD inline
#endif
