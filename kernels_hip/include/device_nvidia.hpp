// What device.hpp and types.hpp declare, for NVIDIA's devices.
#pragma once

namespace rk {

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

RK_DEVICE u32 shuffle_word(u32 value, u32 source_lane) {
    return static_cast<u32>(__nvvm_shfl_sync_idx_i32(~0u, static_cast<i32>(value), static_cast<i32>(source_lane), 31));
}
RK_DEVICE u32 uniform(u32 value) { return value; }
RK_DEVICE u64 ballot(bool condition) { return __nvvm_vote_ballot_sync(~0u, condition); }

RK_DEVICE u32 per_lane(u32 value) { return value; }
RK_DEVICE u32 forgotten(u32 value) {
    asm("" : "+r"(value));
    return value;
}
RK_DEVICE u32 apart(u32 value) {
    asm volatile("" : "+r"(value));
    return value;
}
RK_DEVICE u64 afresh(u64 value) {
    asm volatile("" : "+l"(value));
    return value;
}
RK_DEVICE f32 opaque(f32 x) { return x; }

RK_DEVICE bf16 bf16_from(f32 x) { return bit_cast<bf16>(__nvvm_f2bf16_rn(x)); }

RK_DEVICE f32 rough_reciprocal(f32 x) { return __nvvm_rcp_approx_ftz_f(x); }
RK_DEVICE f64 rough_reciprocal(f64 x) { return __nvvm_rcp_approx_ftz_d(x); }
RK_DEVICE f64 rough_reciprocal_root(f64 x) { return __nvvm_rsqrt_approx_d(x); }
// The steps of a division without its call for the numbers that are excluded, which takes registers of every caller.
RK_DEVICE f64 divide_normal(f64 x, f64 y) {
    f64 reciprocal = rough_reciprocal(y);
    reciprocal = __builtin_fma(reciprocal, __builtin_fma(-y, reciprocal, 1.0), reciprocal);
    reciprocal = __builtin_fma(reciprocal, __builtin_fma(-y, reciprocal, 1.0), reciprocal);
    const f64 quotient = x * reciprocal;
    return __builtin_fma(__builtin_fma(-quotient, y, x), reciprocal, quotient);
}
RK_DEVICE f32 rough_exp2(f32 x) { return __nvvm_ex2_approx_f(x); }
RK_DEVICE f32 exp2_or_zero(f32 x) { return __nvvm_ex2_approx_ftz_f(x); }

template <bool Largest, typename V>
RK_DEVICE V keeping_nan(V x, V y) {
    return Largest ? __builtin_elementwise_maximum(x, y) : __builtin_elementwise_minimum(x, y);
}

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
RK_DEVICE u32 funnel_shift(u32 high, u32 low, u32 bits) {
    u32 word;
    asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(word) : "r"(low), "r"(high), "r"(bits));
    return word;
}

RK_DEVICE void multiply_bytes(const u32 (&rows)[2], const u32 (&columns)[1], i32 start, i32 (&sums)[4]) {
    asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %7, %7, %7};"
        : "=r"(sums[0]), "=r"(sums[1]), "=r"(sums[2]), "=r"(sums[3])
        : "r"(rows[0]), "r"(rows[1]), "r"(columns[0]), "r"(start));
}
RK_DEVICE void multiply_bytes(const u32 (&rows)[4], const u32 (&columns)[2], i32 start, i32 (&sums)[4]) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%10, %10, %10, %10};"
        : "=r"(sums[0]), "=r"(sums[1]), "=r"(sums[2]), "=r"(sums[3])
        : "r"(rows[0]), "r"(rows[1]), "r"(rows[2]), "r"(rows[3]), "r"(columns[0]), "r"(columns[1]), "r"(start));
}

RK_DEVICE u32 lds_address(const u8 *lds) {
    return static_cast<u32>(reinterpret_cast<u64>((const __attribute__((address_space(3))) u8 *)lds));
}
RK_DEVICE void begin_copy(u8 *lds, const u8 *from) {
    const u32 to = lds_address(lds);
    asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
RK_DEVICE void begin_copy_of(u32 bytes, u8 *lds, const u8 *from) {
    const u32 to = lds_address(lds);
    asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
RK_DEVICE void end_group_of_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <u32 GROUPS>
RK_DEVICE void await_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS) : "memory");
}

}  // namespace rk
