// threadIdx, blockIdx, blockDim, gridDim, warpSize, and barriers of blocks.
#pragma once

#include "vectors.h"

// Reads a coordinate from the hardware wherever it is named, so that it needs no memory.
#define __RK_COORDINATES(name, X, Y, Z)                                         \
    struct __rk_##name {                                                        \
        __declspec(property(get = __rk_x)) unsigned x;                          \
        __declspec(property(get = __rk_y)) unsigned y;                          \
        __declspec(property(get = __rk_z)) unsigned z;                          \
        __device__ unsigned __rk_x() const { return X; }                        \
        __device__ unsigned __rk_y() const { return Y; }                        \
        __device__ unsigned __rk_z() const { return Z; }                        \
        __device__ operator uint3() const { return {X, Y, Z}; }                 \
        __device__ operator dim3() const { return {X, Y, Z}; }                  \
    };                                                                          \
    extern const __device__ __attribute__((weak)) __rk_##name name;

// The hidden arguments begin with the grid's block counts.
__RK_DEVICE unsigned __rk_blocks(int axis) {
    return ((const __attribute__((address_space(4))) unsigned *)__builtin_amdgcn_implicitarg_ptr())[axis];
}

__RK_COORDINATES(threadIdx, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
                 __builtin_amdgcn_workitem_id_z())
__RK_COORDINATES(blockIdx, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
                 __builtin_amdgcn_workgroup_id_z())
__RK_COORDINATES(blockDim, __builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(),
                 __builtin_amdgcn_workgroup_size_z())
__RK_COORDINATES(gridDim, __rk_blocks(0), __rk_blocks(1), __rk_blocks(2))

#define hipThreadIdx_x (threadIdx.x)
#define hipThreadIdx_y (threadIdx.y)
#define hipThreadIdx_z (threadIdx.z)
#define hipBlockIdx_x (blockIdx.x)
#define hipBlockIdx_y (blockIdx.y)
#define hipBlockIdx_z (blockIdx.z)
#define hipBlockDim_x (blockDim.x)
#define hipBlockDim_y (blockDim.y)
#define hipBlockDim_z (blockDim.z)
#define hipGridDim_x (gridDim.x)
#define hipGridDim_y (gridDim.y)
#define hipGridDim_z (gridDim.z)

// Lanes of a wave. Host code must ask the device's properties: this is right for one kind of device only.
#if defined(__GFX10__) || defined(__GFX11__) || defined(__GFX12__)
constexpr int warpSize = 32;
#else
constexpr int warpSize = 64;
#endif

__RK_DEVICE void __threadfence_block() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }
__RK_DEVICE void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
__RK_DEVICE void __threadfence_system() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }

// A fence's wait may go where clang sees nothing under way: it judges a loop's barrier before it knows of the writes at
// the loop's end. A wait that is asked for stays.
__RK_DEVICE void __wait_for_shared() {
#if defined(__GFX12__)
    asm volatile("s_wait_dscnt 0x0" ::: "memory");
#elif defined(__GFX11__)
    __builtin_amdgcn_s_waitcnt(0xFC07);  // lgkmcnt(0)
#else
    __builtin_amdgcn_s_waitcnt(0xC07F);  // lgkmcnt(0)
#endif
}

__RK_DEVICE void __syncthreads() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __wait_for_shared();
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
__RK_DEVICE void __barrier() { __syncthreads(); }

// How many of the block's threads have the predicate.
__RK_DEVICE int __syncthreads_count(int predicate) {
    static __shared__ int count;
    if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) {
        count = 0;
    }
    __syncthreads();
    if (predicate) {
        __hip_atomic_fetch_add(&count, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    }
    __syncthreads();
    const int total = count;
    __syncthreads();
    return total;
}
__RK_DEVICE int __syncthreads_or(int predicate) { return __syncthreads_count(predicate) != 0; }
__RK_DEVICE int __syncthreads_and(int predicate) { return __syncthreads_count(!predicate) == 0; }
