// The order of sorting as unsigned numbers: NaN is the largest value, -0 equals +0, false is below true.
#pragma once

#include "math.hpp"

namespace rk {

template <typename T>
RK_DEVICE bits_of<T> order_key(T x) {
    using Key = bits_of<T>;
    constexpr Key sign = static_cast<Key>(Key(1) << (8 * sizeof(T) - 1));
    const Key bits = bit_cast<Key>(x);
    if constexpr (is_float<T>) {
        const Key above_zero = static_cast<Key>(bits == sign ? sign : bits | sign);
        const Key ordered = bits > sign ? static_cast<Key>(~bits) : above_zero;
        return is_nan(widen(x)) ? static_cast<Key>(~Key(0)) : ordered;
    } else if constexpr (is_signed_integer<T>) {
        return static_cast<Key>(bits ^ sign);
    } else {
        return bits;
    }
}

// Descending order is the ascending one of the complement; stable all the same.
template <typename T>
RK_DEVICE bits_of<T> order_key(T x, bool descending) {
    const bits_of<T> key = order_key(x);
    return static_cast<bits_of<T>>(descending ? ~key : key);
}

}  // namespace rk
