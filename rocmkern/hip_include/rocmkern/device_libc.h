// stdio.h, assert.h, string.h and stdlib.h as far as kernels have them.
#pragma once

#include <stddef.h>

// The compiler turns a call into stores to the printf buffer, which the runtime prints when the kernel has ended.
extern "C" __device__ int printf(const char *format, ...);

// Room for one call's arguments; null, and nothing printed, once the buffer is full. The compiler calls it.
extern "C" __device__ inline __attribute__((used)) char *__printf_alloc(unsigned bytes) {
    constexpr int place_of_the_buffer = 72;  // among the hidden arguments
    using Words = __attribute__((address_space(1))) unsigned *;
    const auto hidden = (const __attribute__((address_space(4))) char *)__builtin_amdgcn_implicitarg_ptr();
    const auto buffer = *(const __attribute__((address_space(4))) Words *)(hidden + place_of_the_buffer);
    if (!buffer) {
        return nullptr;
    }
    const unsigned size = buffer[1];
    unsigned used = __hip_atomic_load(&buffer[0], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    while (used + bytes <= size && !__hip_atomic_compare_exchange_weak(&buffer[0], &used, used + bytes, __ATOMIC_RELAXED,
                                                                      __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) {
    }
    return used + bytes <= size ? (char *)(buffer + 2) + used : nullptr;
}

extern "C" __device__ inline __attribute__((noreturn, always_inline)) void abort() { __builtin_trap(); }
extern "C" __device__ inline __attribute__((noreturn, always_inline)) void __assert_fail(const char *claim, const char *file,
                                                                        unsigned line, const char *function) {
    printf("%s:%u: %s: assertion `%s' failed in block (%u, %u, %u), thread (%u, %u, %u)\n", file, line, function, claim,
           __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z(),
           __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(), __builtin_amdgcn_workitem_id_z());
    __builtin_trap();
}
__RK_DEVICE void __trap() { __builtin_trap(); }

__RK_DEVICE void *memcpy(void *to, const void *from, size_t bytes) { return __builtin_memcpy(to, from, bytes); }
__RK_DEVICE void *memmove(void *to, const void *from, size_t bytes) { return __builtin_memmove(to, from, bytes); }
__RK_DEVICE void *memset(void *to, int byte, size_t bytes) { return __builtin_memset(to, byte, bytes); }
__RK_DEVICE int memcmp(const void *a, const void *b, size_t bytes) {
    const auto first = static_cast<const unsigned char *>(a), second = static_cast<const unsigned char *>(b);
    for (size_t i = 0; i < bytes; ++i) {
        if (first[i] != second[i]) {
            return first[i] < second[i] ? -1 : 1;
        }
    }
    return 0;
}
__RK_DEVICE size_t strlen(const char *text) {
    size_t length = 0;
    while (text[length]) {
        ++length;
    }
    return length;
}

__RK_DEVICE long long clock64() { return static_cast<long long>(__builtin_readcyclecounter()); }
__RK_DEVICE long long clock() { return clock64(); }
__RK_DEVICE long long wall_clock64() { return clock64(); }
