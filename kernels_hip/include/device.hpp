// Threads, waves and barriers: the only place that names hardware builtins. AMDGPU and NVPTX differ here alone.
#pragma once

#include "types.hpp"

namespace rk {

#if defined(__AMDGCN__)

#if defined(__GFX9__)
constexpr u32 wave_size = 64;
#else
constexpr u32 wave_size = 32;
#endif

RK_DEVICE u32 thread_x() { return __builtin_amdgcn_workitem_id_x(); }
RK_DEVICE u32 thread_y() { return __builtin_amdgcn_workitem_id_y(); }
RK_DEVICE u32 thread_z() { return __builtin_amdgcn_workitem_id_z(); }
RK_DEVICE u32 block_x() { return __builtin_amdgcn_workgroup_id_x(); }
RK_DEVICE u32 block_y() { return __builtin_amdgcn_workgroup_id_y(); }
RK_DEVICE u32 block_z() { return __builtin_amdgcn_workgroup_id_z(); }
RK_DEVICE u32 block_size_x() { return __builtin_amdgcn_workgroup_size_x(); }
RK_DEVICE u32 block_size_y() { return __builtin_amdgcn_workgroup_size_y(); }
RK_DEVICE u32 block_size_z() { return __builtin_amdgcn_workgroup_size_z(); }

// The hidden arguments begin with the grid's block counts (code object v5 and later).
RK_DEVICE u32 grid_dim(u32 axis) {
    return ((const u32 *)__builtin_amdgcn_implicitarg_ptr())[axis];
}
RK_DEVICE u32 grid_x() { return grid_dim(0); }
RK_DEVICE u32 grid_y() { return grid_dim(1); }
RK_DEVICE u32 grid_z() { return grid_dim(2); }

RK_DEVICE u32 lane() {
    const u32 low = __builtin_amdgcn_mbcnt_lo(~0u, 0u);
    if constexpr (wave_size == 64) {
        return __builtin_amdgcn_mbcnt_hi(~0u, low);
    } else {
        return low;
    }
}

// All memory written by the block's threads before is seen by all of them after.
RK_DEVICE void barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

RK_DEVICE u32 per_lane(u32 value) {
    asm("" : "+v"(value));
    return value;
}

RK_DEVICE u32 shuffle_word(u32 value, u32 source_lane) {
    return static_cast<u32>(__builtin_amdgcn_ds_bpermute(static_cast<i32>(source_lane << 2), static_cast<i32>(value)));
}

// The value of the first active lane, known to be the same in the whole wave.
RK_DEVICE u32 uniform(u32 value) { return static_cast<u32>(__builtin_amdgcn_readfirstlane(static_cast<i32>(value))); }

// 1/x within an ulp, for x and 1/x that are normal.
RK_DEVICE f32 rough_reciprocal(f32 x) { return __builtin_amdgcn_rcpf(x); }

// x / y for numbers that are far from subnormals and overflow.
RK_DEVICE f64 divide_normal(f64 x, f64 y) { return x / y; }

// 2^x within an ulp or two.
RK_DEVICE f32 rough_exp2(f32 x) { return __builtin_exp2f(x); }

// c plus the products of the four signed bytes of a and b; wraps.
RK_DEVICE i32 dot4(i32 a, i32 b, i32 c) {
#if defined(__GFX11__) || defined(__GFX12__)
    return __builtin_amdgcn_sudot4(true, a, true, b, c, false);
#else
    return __builtin_amdgcn_sdot4(a, b, c, false);
#endif
}

// Byte i of the result is the byte of high:low (low's are 0 to 3, high's 4 to 7) that byte i of the selector names.
RK_DEVICE u32 byte_permute(u32 high, u32 low, u32 selector) { return __builtin_amdgcn_perm(high, low, selector); }

// Bit i tells whether lane i is active and has the condition.
RK_DEVICE u64 ballot(bool condition) {
#if defined(__GFX9__)
    return __builtin_amdgcn_ballot_w64(condition);
#else
    return __builtin_amdgcn_ballot_w32(condition);
#endif
}

// Orders memory accesses among the wave's own lanes, which otherwise the compiler may move.
RK_DEVICE void wave_sync() {
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
    __builtin_amdgcn_wave_barrier();
}

// Orders this thread's accesses before with those after as seen by the whole device.
RK_DEVICE void device_fence() { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "agent"); }

template <typename T>
RK_DEVICE T atomic_add(T *p, T value) {
    return __hip_atomic_fetch_add(p, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T>
RK_DEVICE T atomic_min(T *p, T value) {
    return __hip_atomic_fetch_min(p, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

#elif defined(__NVPTX__)

constexpr u32 wave_size = 32;

RK_DEVICE u32 thread_x() { return __nvvm_read_ptx_sreg_tid_x(); }
RK_DEVICE u32 thread_y() { return __nvvm_read_ptx_sreg_tid_y(); }
RK_DEVICE u32 thread_z() { return __nvvm_read_ptx_sreg_tid_z(); }
RK_DEVICE u32 block_x() { return __nvvm_read_ptx_sreg_ctaid_x(); }
RK_DEVICE u32 block_y() { return __nvvm_read_ptx_sreg_ctaid_y(); }
RK_DEVICE u32 block_z() { return __nvvm_read_ptx_sreg_ctaid_z(); }
RK_DEVICE u32 block_size_x() { return __nvvm_read_ptx_sreg_ntid_x(); }
RK_DEVICE u32 block_size_y() { return __nvvm_read_ptx_sreg_ntid_y(); }
RK_DEVICE u32 block_size_z() { return __nvvm_read_ptx_sreg_ntid_z(); }
RK_DEVICE u32 grid_x() { return __nvvm_read_ptx_sreg_nctaid_x(); }
RK_DEVICE u32 grid_y() { return __nvvm_read_ptx_sreg_nctaid_y(); }
RK_DEVICE u32 grid_z() { return __nvvm_read_ptx_sreg_nctaid_z(); }
RK_DEVICE u32 lane() { return __nvvm_read_ptx_sreg_laneid(); }
RK_DEVICE void barrier() { __syncthreads(); }
RK_DEVICE u32 per_lane(u32 value) { return value; }
RK_DEVICE u32 shuffle_word(u32 value, u32 source_lane) {
    return static_cast<u32>(__nvvm_shfl_sync_idx_i32(~0u, static_cast<i32>(value), static_cast<i32>(source_lane), 31));
}
RK_DEVICE u32 uniform(u32 value) { return value; }
RK_DEVICE f32 rough_reciprocal(f32 x) { return __nvvm_rcp_approx_ftz_f(x); }
// The steps of a division without its call for the numbers that are excluded, which takes registers of every caller.
RK_DEVICE f64 divide_normal(f64 x, f64 y) {
    f64 reciprocal = __nvvm_rcp_approx_ftz_d(y);  // to 20 bits
    reciprocal = __builtin_fma(reciprocal, __builtin_fma(-y, reciprocal, 1.0), reciprocal);
    reciprocal = __builtin_fma(reciprocal, __builtin_fma(-y, reciprocal, 1.0), reciprocal);
    const f64 quotient = x * reciprocal;
    return __builtin_fma(__builtin_fma(-quotient, y, x), reciprocal, quotient);
}
RK_DEVICE f32 rough_exp2(f32 x) { return __nvvm_ex2_approx_f(x); }
RK_DEVICE i32 dot4(i32 a, i32 b, i32 c) {
    i32 sum;
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
    return sum;
}
RK_DEVICE u32 byte_permute(u32 high, u32 low, u32 selector) {
    // prmt takes four bits for each byte, where the selector has eight.
    const u32 packed = (selector & 0xfu) | (selector >> 4 & 0xf0u) | (selector >> 8 & 0xf00u) | (selector >> 12 & 0xf000u);
    u32 bytes;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(low), "r"(high), "r"(packed));
    return bytes;
}
RK_DEVICE u64 ballot(bool condition) { return __nvvm_vote_ballot_sync(~0u, condition); }

RK_DEVICE void wave_sync() { __nvvm_bar_warp_sync(~0u); }
RK_DEVICE void device_fence() { __nvvm_membar_gl(); }
template <typename T>
RK_DEVICE T atomic_add(T *p, T value) {
    return __scoped_atomic_fetch_add(p, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
template <typename T>
RK_DEVICE T atomic_min(T *p, T value) {
    return __scoped_atomic_fetch_min(p, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

#else
// The host half of an ordinary hipcc compilation only parses the kernels.
constexpr u32 wave_size = 32;
__device__ u32 thread_x();
__device__ u32 thread_y();
__device__ u32 thread_z();
__device__ u32 block_x();
__device__ u32 block_y();
__device__ u32 block_z();
__device__ u32 block_size_x();
__device__ u32 block_size_y();
__device__ u32 block_size_z();
__device__ u32 grid_x();
__device__ u32 grid_y();
__device__ u32 grid_z();
__device__ u32 lane();
__device__ void barrier();
__device__ u32 per_lane(u32 value);
__device__ u32 shuffle_word(u32 value, u32 source_lane);
__device__ u64 ballot(bool condition);
__device__ u32 uniform(u32 value);
__device__ f32 rough_reciprocal(f32 x);
__device__ f64 divide_normal(f64 x, f64 y);
__device__ f32 rough_exp2(f32 x);
__device__ i32 dot4(i32 a, i32 b, i32 c);
__device__ u32 byte_permute(u32 high, u32 low, u32 selector);
__device__ void wave_sync();
__device__ void device_fence();
template <typename T>
__device__ T atomic_add(T *p, T value);
template <typename T>
__device__ T atomic_min(T *p, T value);
#endif

// Position in, and width of, a one-dimensional grid.
RK_DEVICE u64 global_thread() { return static_cast<u64>(block_x()) * block_size_x() + thread_x(); }
RK_DEVICE u64 global_threads() { return static_cast<u64>(grid_x()) * block_size_x(); }

// The same number, from here on in vector registers: AMD GPUs have a hundred scalar ones, and what all lanes share would
// crowd them.
RK_DEVICE u64 per_lane(u64 value) {
    const u64 high = per_lane(static_cast<u32>(value >> 32));
    return high << 32 | per_lane(static_cast<u32>(value));
}

// The value that `source_lane` of the same wave holds; that lane must be active.
template <typename T>
RK_DEVICE T shuffle(T value, u32 source_lane) {
    if constexpr (sizeof(T) < sizeof(u32)) {
        return bit_cast<T>(static_cast<bits_of<T>>(shuffle_word(bit_cast<bits_of<T>>(value), source_lane)));
    } else {
        struct Words {
            u32 word[sizeof(T) / sizeof(u32)];
        } words = bit_cast<Words>(value);
#pragma unroll
        for (u32 &word : words.word) {
            word = shuffle_word(word, source_lane);
        }
        return bit_cast<T>(words);
    }
}

template <typename T>
RK_DEVICE T shuffle_xor(T value, u32 mask) {
    return shuffle(value, lane() ^ mask);
}

}  // namespace rk
