// A matrix instruction for few columns: 16 rows of 16 or 32 bytes times eight columns of as many.
#pragma once

#include "device.hpp"

namespace rk {

#if defined(__NVPTX__)
// Of the rows, a lane holds the four bytes from 4 (lane % 4) on of rows lane / 4 and 8 + lane / 4, then those 16 bytes
// further; of the columns those of column lane / 4. Its sums are of the same two rows, each with columns 2 (lane % 4) and
// the one after.
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

// Begins to copy `bytes` bytes, up to 16, and zeros after them.
RK_DEVICE void begin_copy_of(u32 bytes, u8 *lds, const u8 *from) {
    const u32 to = static_cast<u32>(reinterpret_cast<u64>((__attribute__((address_space(3))) u8 *)lds));
    asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

// Nothing after it is read before it.
RK_DEVICE u32 load_acquire(const u32 *from) {
    u32 value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    return value;
}
#endif

}  // namespace rk
