// Rotary position embedding: pairs of elements turned by an angle whose cosine and sine come in tables of one row of
// d/2 per position, one table for all or one per batch entry of `stride_b` elements (0: one for all).
#pragma once

#include "device.hpp"
#include "index.hpp"

namespace rk {

RK_DEVICE u64 remainder(u64 n, u64 divisor) { return n - divide(n, divisor) * divisor; }

template <typename T>
struct Rope {
    const T *src;
    const T *cos;
    const T *sin;
    T *dst;
    u64 stride_b;

    RK_DEVICE u64 table(u64 pair, u64 table_size) const { return stride_b == 0 ? 0 : divide(2 * pair, stride_b) * table_size; }

    RK_DEVICE void turn(u64 first, u64 second, u64 angle) const {
        const arith<T> x = widen(src[first]);
        const arith<T> y = widen(src[second]);
        const arith<T> c = widen(cos[angle]);
        const arith<T> s = widen(sin[angle]);
        dst[first] = narrow<T>(x * c - y * s);
        dst[second] = narrow<T>(x * s + y * c);
    }
};

// (bh, t, d): element i of a row turns with element i + d/2.
template <typename T>
RK_DEVICE void rope_halves(const Rope<T> &rope, u64 bh, u64 td, u64 d) {
    const u64 half = d / 2;
    for (u64 pair = global_thread(); pair < bh * td / 2; pair += global_threads()) {
        const u64 row = divide(pair, half);
        const u64 column = pair - row * half;
        const u64 angle = remainder(pair, td / 2) + rope.table(pair, td / 2);
        const u64 first = row * d + column;
        rope.turn(first, first + half, angle);
    }
}

// (bh, t, d): element 2i of a row turns with element 2i + 1.
template <typename T>
RK_DEVICE void rope_interleaved(const Rope<T> &rope, u64 bh, u64 td) {
    for (u64 pair = global_thread(); pair < bh * td / 2; pair += global_threads()) {
        const u64 angle = remainder(pair, td / 2) + rope.table(pair, td / 2);
        rope.turn(2 * pair, 2 * pair + 1, angle);
    }
}

// (b, t, h, d): halves as above, with heads inside positions.
template <typename T>
RK_DEVICE void rope_heads_inside(const Rope<T> &rope, u64 b, u64 t, u64 h, u64 d) {
    const u64 half = d / 2;
    for (u64 pair = global_thread(); pair < b * t * h * half; pair += global_threads()) {
        const u64 row = divide(pair, half);
        const u64 column = pair - row * half;
        const u64 angle = remainder(divide(row, h), t) * half + column + rope.table(pair, t * half);
        const u64 first = row * d + column;
        rope.turn(first, first + half, angle);
    }
}

}  // namespace rk
