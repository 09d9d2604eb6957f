// atomicAdd and its kin: relaxed, for all threads of the device; `_system` for all of the machine, `_block` of the block.
#pragma once

#define __RK_ATOMIC_FETCH(name, builtin, suffix, scope)                                   \
    template <typename T>                                                                 \
    __RK_DEVICE T name##suffix(T *p, __rk_exactly<T> value) {                             \
        return builtin(p, value, __ATOMIC_RELAXED, scope);                                \
    }
#define __RK_ATOMIC_IN(suffix, scope)                                                     \
    __RK_ATOMIC_FETCH(atomicAdd, __hip_atomic_fetch_add, suffix, scope)                   \
    __RK_ATOMIC_FETCH(atomicSub, __hip_atomic_fetch_sub, suffix, scope)                   \
    __RK_ATOMIC_FETCH(atomicMin, __hip_atomic_fetch_min, suffix, scope)                   \
    __RK_ATOMIC_FETCH(atomicMax, __hip_atomic_fetch_max, suffix, scope)                   \
    __RK_ATOMIC_FETCH(atomicAnd, __hip_atomic_fetch_and, suffix, scope)                   \
    __RK_ATOMIC_FETCH(atomicOr, __hip_atomic_fetch_or, suffix, scope)                     \
    __RK_ATOMIC_FETCH(atomicXor, __hip_atomic_fetch_xor, suffix, scope)                   \
    __RK_ATOMIC_FETCH(atomicExch, __hip_atomic_exchange, suffix, scope)                   \
    template <typename T>                                                                 \
    __RK_DEVICE T atomicCAS##suffix(T *p, __rk_exactly<T> expected, __rk_exactly<T> value) { \
        __hip_atomic_compare_exchange_strong(p, &expected, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED, scope); \
        return expected;                                                                  \
    }                                                                                     \
    __RK_DEVICE unsigned atomicInc##suffix(unsigned *p, unsigned most) {                  \
        return __builtin_amdgcn_atomic_inc32(p, most, __ATOMIC_RELAXED, __RK_SCOPE_NAME##suffix); \
    }                                                                                     \
    __RK_DEVICE unsigned atomicDec##suffix(unsigned *p, unsigned most) {                  \
        return __builtin_amdgcn_atomic_dec32(p, most, __ATOMIC_RELAXED, __RK_SCOPE_NAME##suffix); \
    }

#define __RK_SCOPE_NAME "agent"
#define __RK_SCOPE_NAME_system ""
#define __RK_SCOPE_NAME_block "workgroup"
__RK_ATOMIC_IN(, __HIP_MEMORY_SCOPE_AGENT)
__RK_ATOMIC_IN(_system, __HIP_MEMORY_SCOPE_SYSTEM)
__RK_ATOMIC_IN(_block, __HIP_MEMORY_SCOPE_WORKGROUP)

template <typename T>
__RK_DEVICE void atomicAddNoRet(T *p, __rk_exactly<T> value) {
    atomicAdd(p, value);
}
template <typename T>
__RK_DEVICE T unsafeAtomicAdd(T *p, __rk_exactly<T> value) {
    return atomicAdd(p, value);
}
template <typename T>
__RK_DEVICE T safeAtomicAdd(T *p, __rk_exactly<T> value) {
    return atomicAdd(p, value);
}

// What has no instruction of its own: numbers of two bytes, within the word that holds them, and pairs of them.
template <typename T, typename F>
__RK_DEVICE T __rk_atomic_change(T *p, F change) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "atomics of two or four bytes");
    const auto at = reinterpret_cast<unsigned long>(p);
    unsigned *word = reinterpret_cast<unsigned *>(at & ~3ul);
    const unsigned shift = static_cast<unsigned>(at & 3) * 8;
    unsigned seen = __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    for (;;) {
        const unsigned bits = seen >> shift;
        T old, fresh;
        __builtin_memcpy(&old, &bits, sizeof(T));
        fresh = change(old);
        unsigned written = 0;
        __builtin_memcpy(&written, &fresh, sizeof(T));
        const unsigned mask = sizeof(T) == 4 ? ~0u : 0xffffu << shift;
        written = (seen & ~mask) | (written << shift & mask);
        if (__hip_atomic_compare_exchange_strong(word, &seen, written, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                                 __HIP_MEMORY_SCOPE_AGENT)) {
            return old;
        }
    }
}
