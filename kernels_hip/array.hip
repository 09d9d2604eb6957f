// array: assignment between any two layouts, to places told by offsets, evenly spaced numbers, and copies that go on
// beyond their ends.
#include "include/convert.hpp"
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
        out[i] = convert<T>(value);
    }
}

// out[offsets[i]] = inp[i]; no two offsets are equal.
template <typename T>
RK_DEVICE void put(u64 numel, const i64 *offsets, const T *inp, T *out) {
    for (u64 i = global_thread(); i < numel; i += global_threads()) {
        out[offsets[i]] = inp[i];
    }
}

// out[…] = inp[…] at places that go on beyond the ends of its axes. info: out's dims, inp's strides and dims, and of each
// axis the place in its period where out begins, the period, and the fold: a place past the end is as far below it. With
// `clamped` out begins that much before inp, whose end elements go on.
template <typename T>
RK_DEVICE void pad(const Space &space, bool clamped, const T *inp, T *out) {
    const u64 *strides = space.strides(0), *lengths = space.strides(1), *starts = space.strides(2);
    const u64 *periods = space.strides(3), *folds = space.strides(4);
#pragma unroll 1
    for (u64 i = global_thread(); i < space.numel; i += global_threads()) {
        u64 rest = i, offset = 0;
#pragma unroll 1
        for (u64 d = space.num_dims; d-- > 0;) {
            const u64 above = d == 0 ? 0 : space.divide(rest, space.info[d]);
            const u64 at = rest - above * space.info[d];
            u64 place = at + starts[d];
            if (clamped) {
                place = at < starts[d] ? 0 : at - starts[d];
                place = place < lengths[d] ? place : lengths[d] - 1;
            } else {
                place -= place < periods[d] ? 0 : rk::divide(place, periods[d]) * periods[d];
                place = place < lengths[d] ? place : folds[d] - place;
            }
            offset += place * strides[d];
            rest = above;
        }
        out[i] = inp[offset];
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

#define PAD(T)                                                                                 \
    RK_KERNEL pad_##T(rk::u64 numel, rk::u64 num_dims, const rk::u64 *info, bool clamped,      \
                      const rk::T *inp, rk::T *out) {                                          \
        rk::pad<rk::T>({numel, num_dims, info}, clamped, inp, out);                            \
    }

#include "instances/array.inc"
