// What every HIP source may take for granted, included before its first line: qualifiers, and the C library's functions
// for the device. Declared ahead of <cmath>, they take part in what `using` brings into namespace std.
#pragma once

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __forceinline__ inline __attribute__((always_inline))
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))

// HIP's second argument, waves of a SIMD that are to be resident, and CUDA's, blocks of a multiprocessor, may be left out.
#define __RK_BOUNDS(threads, ...) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define __launch_bounds__(...) __RK_BOUNDS(__VA_ARGS__, 0)

#define __HIP_PLATFORM_AMD__ 1
#define __HIP_PLATFORM_HCC__ 1
#define __HIPCC__ 1
#define HIP_VERSION_MAJOR 6
#define HIP_VERSION_MINOR 4
#define HIP_VERSION_PATCH 0
#define HIP_VERSION (HIP_VERSION_MAJOR * 10000000 + HIP_VERSION_MINOR * 100000 + HIP_VERSION_PATCH)
#if defined(__AMDGCN__)
#define __HIP_DEVICE_COMPILE__ 1
#endif

#define __RK_DEVICE static __device__ __attribute__((always_inline, unused)) inline
#define __RK_BOTH static __host__ __device__ __attribute__((always_inline, unused)) inline

template <bool Condition>
struct __rk_enabled {};
template <>
struct __rk_enabled<true> {
    using type = int;
};
template <bool Condition>
using __rk_if = typename __rk_enabled<Condition>::type;

// A parameter of this type takes no part in deducing T, so that an argument converts to it.
template <typename T>
struct __rk_same {
    using type = T;
};
template <typename T>
using __rk_exactly = typename __rk_same<T>::type;

#include "device_math.h"

#include "device_libc.h"
