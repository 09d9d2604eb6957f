// What keeps a compiler from undoing how a kernel orders its loads and spends its registers.
#pragma once

#include "device.hpp"

namespace rk {

// 16 bytes in registers, arrays of them too. Of structs, NVPTX moves halves, and keeps arrays in local memory.
using FourWords = u32 __attribute__((ext_vector_type(4)));

// The compiler moves no load from above to below: what is loaded above is in flight together.
RK_DEVICE void loads_begin_above() { asm volatile("" ::: "memory"); }

// The same bits, of which the compiler forgets what it has computed from them.
RK_DEVICE u32 forgotten(u32 value) {
#if defined(__NVPTX__)
    asm("" : "+r"(value));
    return value;
#else
    return per_lane(value);
#endif
}

}  // namespace rk
