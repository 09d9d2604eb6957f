// array: assignment between any two layouts, to places told by offsets, and evenly spaced numbers.
#include "include/elementwise.hpp"
#include "include/math.hpp"

namespace rk {

// out and inp in any layout: info holds dims, inp's strides, out's strides.
template <typename T>
RK_DEVICE void assign(const Space &space, const T *inp, T *out) {
    for (u64 i = global_thread(); i < space.numel; i += global_threads()) {
        const Offsets<2> offsets = strided_offsets<2>(i, space.numel, space.num_dims, space.info, space.strides(0));
        out[offsets.of[1]] = inp[offsets.of[0]];
    }
}

// Counts up from start in the first half and down from stop in the second, so that both ends are exact.
template <typename T, typename A>
RK_DEVICE void ramp(u64 numel, A start, A step, A stop, T *out) {
    for (u64 i = global_thread(); i < numel; i += global_threads()) {
        const A forward = add(start, multiply(static_cast<A>(i), step));
        const A backward = subtract(stop, multiply(static_cast<A>(numel - 1 - i), step));
        const A value = i < numel / 2 ? forward : backward;
        if constexpr (is_short_float<T>) {
            out[i] = narrow<T>(static_cast<f32>(value));
        } else {
            out[i] = static_cast<T>(value);
        }
    }
}

// out[offsets[i]] = inp[i]; no two offsets are equal.
template <typename T>
RK_DEVICE void put(u64 numel, const i64 *offsets, const T *inp, T *out) {
    for (u64 i = global_thread(); i < numel; i += global_threads()) {
        out[offsets[i]] = inp[i];
    }
}

}  // namespace rk

#define ASSIGN(T)                                                                                             \
    RK_KERNEL assign_##T(rk::u64 numel, rk::u64 num_dims, const rk::u64 *info, const rk::T *inp, rk::T *out) { \
        rk::assign<rk::T>({numel, num_dims, info}, inp, out);                                                 \
    }

#define RAMP(T, A)                                                                             \
    RK_KERNEL ramp_##T(rk::u64 numel, rk::A start, rk::A step, rk::A stop, rk::T *out) {       \
        rk::ramp<rk::T, rk::A>(numel, start, step, stop, out);                                 \
    }

#define PUT(T)                                                                                 \
    RK_KERNEL put_##T(rk::u64 numel, const rk::i64 *offsets, const rk::T *inp, rk::T *out) {   \
        rk::put<rk::T>(numel, offsets, inp, out);                                              \
    }

#include "instances/array.inc"
