// What device.hpp and types.hpp declare, for AMD's devices.
#pragma once

namespace rk {

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

// A fence's wait may go where clang sees nothing under way: it judges a loop's barrier before it knows of the writes at
// the loop's end. A wait that is asked for stays.
RK_DEVICE void wait_for_local_memory() {
#if defined(__GFX12__)
    asm volatile("s_wait_dscnt 0x0" ::: "memory");
#elif defined(__GFX11__)
    __builtin_amdgcn_s_waitcnt(0xFC07);  // lgkmcnt(0)
#else
    __builtin_amdgcn_s_waitcnt(0xC07F);  // lgkmcnt(0)
#endif
}

RK_DEVICE void barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    wait_for_local_memory();
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
RK_DEVICE void wave_sync() {
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
    __builtin_amdgcn_wave_barrier();
}
RK_DEVICE void device_fence() { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "agent"); }

template <typename T>
RK_DEVICE T atomic_add(T *p, T value) {
    return __hip_atomic_fetch_add(p, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T>
RK_DEVICE T atomic_min(T *p, T value) {
    return __hip_atomic_fetch_min(p, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

RK_DEVICE u32 shuffle_word(u32 value, u32 source_lane) {
    return static_cast<u32>(__builtin_amdgcn_ds_bpermute(static_cast<i32>(source_lane << 2), static_cast<i32>(value)));
}
RK_DEVICE u32 uniform(u32 value) { return static_cast<u32>(__builtin_amdgcn_readfirstlane(static_cast<i32>(value))); }
RK_DEVICE u64 ballot(bool condition) {
#if defined(__GFX9__)
    return __builtin_amdgcn_ballot_w64(condition);
#else
    return __builtin_amdgcn_ballot_w32(condition);
#endif
}

RK_DEVICE u32 per_lane(u32 value) {
    asm("" : "+v"(value));
    return value;
}
RK_DEVICE u32 forgotten(u32 value) { return per_lane(value); }
RK_DEVICE u32 apart(u32 value) {
    asm volatile("" : "+v"(value));
    return value;
}
RK_DEVICE u64 afresh(u64 value) {
    asm volatile("" : "+s"(value));
    return value;
}
RK_DEVICE f32 opaque(f32 x) {
    asm("" : "+v"(x));
    return x;
}

RK_DEVICE bf16 bf16_from(f32 x) {
    const u32 bits = bit_cast<u32>(x);
    const u32 rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;  // to nearest, ties to even
    return bf16{static_cast<u16>(x != x ? (bits >> 16) | 0x40u : rounded)};
}

RK_DEVICE f32 rough_reciprocal(f32 x) { return __builtin_amdgcn_rcpf(x); }
RK_DEVICE f64 rough_reciprocal(f64 x) { return __builtin_amdgcn_rcp(x); }
RK_DEVICE f64 rough_reciprocal_root(f64 x) { return __builtin_amdgcn_rsq(x); }
RK_DEVICE f64 divide_normal(f64 x, f64 y) { return x / y; }
RK_DEVICE f32 rough_exp2(f32 x) { return __builtin_exp2f(x); }
RK_DEVICE f32 exp2_or_zero(f32 x) { return __builtin_amdgcn_exp2f(x); }

RK_DEVICE i32 dot4(i32 a, i32 b, i32 c) {
#if defined(__GFX11__) || defined(__GFX12__)
    return __builtin_amdgcn_sudot4(true, a, true, b, c, false);
#else
    return __builtin_amdgcn_sdot4(a, b, c, false);
#endif
}
RK_DEVICE u32 byte_permute(u32 high, u32 low, u32 selector) { return __builtin_amdgcn_perm(high, low, selector); }

}  // namespace rk
