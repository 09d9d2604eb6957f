// series: what each element of a result takes from several others: slopes and areas along an axis, values between known
// ones, polynomials, coordinates.
#include "include/convert.hpp"
#include "include/elementwise.hpp"
#include "include/numbers.hpp"

namespace rk {

// Half the difference of both neighbours over `spacing`, at the ends of an axis of length n that to the one. `right`
// elements of the result lie between neighbours, `step` ones of inp. Short floats are rounded once.
template <typename T, u32 Width>
RK_DEVICE void slopes(const Space &space, u64 n, u64 right, u64 step, arith<T> spacing, const T *inp, T *out) {
    using Elements = Pack<T, Width>;
#pragma unroll 1
    for (u64 i = Width * global_thread(); i < space.numel; i += Width * global_threads()) {
        const u64 line = space.divide(i, right);
        const u64 place = line - space.divide(line, n) * n;
        const T *at = inp + space.offsets<1>(i).of[0];
        const bool is_first = place == 0, is_last = place == n - 1;
        const auto later = *reinterpret_cast<const Elements *>(at + (is_last ? 0 : step));
        const auto earlier = *reinterpret_cast<const Elements *>(at - (is_first ? 0 : step));
        const arith<T> distance = is_first || is_last ? spacing : 2 * spacing;
        Elements found;
#pragma unroll
        for (u32 j = 0; j < Width; ++j) {
            found.lane[j] = narrow<T>((widen(later.lane[j]) - widen(earlier.lane[j])) / distance);
        }
        *reinterpret_cast<Elements *>(out + i) = found;
    }
}

// Elements side by side that lie between neighbours go in packs.
template <typename T>
RK_DEVICE void gradient(const Space &space, u64 n, u64 right, u64 step, arith<T> spacing, const T *inp, T *out) {
    constexpr u32 width = is_short_float<T> ? 4 : vector_bytes / sizeof(T);
    const bool are_aligned = is_aligned(inp, width * sizeof(T)) && is_aligned(out, width * sizeof(T));
    if (space.info == nullptr && right % width == 0 && are_aligned) {
        slopes<T, width>(space, n, right, step, spacing, inp, out);
    } else {
        slopes<T, 1>(space, n, right, step, spacing, inp, out);
    }
}

// (y[i] + y[i+1])·d/2, where d is the distance of the places x[i] and x[i+1], or x[i] itself, or `dx` without x.
template <typename T>
RK_DEVICE void areas(const Space &space, u64 y_step, u64 x_step, bool are_places, T dx, const T *y, const T *x,
                     T *out) {
#pragma unroll 1
    for (u64 i = global_thread(); i < space.numel; i += global_threads()) {
        const auto at = space.offsets<2>(i);
        T distance = dx;
        if (x != nullptr) {
            distance = x[at.of[1]];
            if (are_places) {
                distance = x[at.of[1] + x_step] - distance;
            }
        }
        const T height = y[at.of[0]] + y[at.of[0] + y_step];
        out[i] = height * distance / 2;
    }
}

template <typename T>
struct Line {
    const T *data;
    u64 step;

    RK_DEVICE f64 operator[](u64 i) const { return static_cast<f64>(widen(data[i * step])); }
};

struct Beyond {
    bool is_given;
    f64 value;
};

// NumPy's formula, in f64 as there. `by_inverse` is its way for the parts of complex values, `at_nan` what those of NaN
// are.
template <typename T>
RK_DEVICE f64 between(f64 x, u64 n, const Line<T> &places, const Line<T> &values, const Beyond &left,
                      const Beyond &right, bool by_inverse, f64 at_nan) {
    const f64 last = places[n - 1];
    if (n == 1 || x == last) {
        return x < last && left.is_given ? left.value : x > last && right.is_given ? right.value : values[n - 1];
    }
    if (x != x) {
        return at_nan;
    }
    if (x > last) {
        return right.is_given ? right.value : values[n - 1];
    }
    f64 start = places[0];
    if (x < start) {
        return left.is_given ? left.value : values[0];
    }
    u64 low = 0, high = n - 1;
#pragma unroll 1
    while (high - low > 1) {
        const u64 middle = low + (high - low) / 2;
        const f64 place = places[middle];
        low = place <= x ? middle : low;
        start = place <= x ? place : start;
        high = place <= x ? high : middle;
    }
    const f64 from = values[low];
    if (start == x) {
        return from;
    }
    const f64 to = values[high], end = places[high];
    const f64 width = end - start;
    const f64 slope = by_inverse ? (to - from) * (1 / width) : (to - from) / width;
    f64 found = slope * (x - start) + from;
    if (found != found) {
        found = slope * (x - end) + to;
        found = found != found && from == to ? from : found;
    }
    return found;
}

template <typename T>
RK_DEVICE void interp(const Space &space, u64 n, u64 out_step, bool by_inverse, f64 at_nan, const Beyond &left,
                      const Beyond &right, const T *x, const Line<T> &places, const Line<T> &values, T *out) {
#pragma unroll 1
    for (u64 i = global_thread(); i < space.numel; i += global_threads()) {
        const f64 at = static_cast<f64>(widen(x[space.offsets<1>(i).of[0]]));
        const f64 found = between(at, n, places, values, left, right, by_inverse, at_nan);
        out[i * out_step] = convert<T>(found);
    }
}

template <typename T>
RK_DEVICE T horner(T y, T x, T p) {
    if constexpr (is_bool<T>) {
        return (y && x) || p;
    } else if constexpr (is_complex<T>) {
        return plus(product(y, x), p);
    } else if constexpr (is_float<T>) {
        return narrow<T>(widen(narrow<T>(widen(y) * widen(x))) + widen(p));
    } else {
        return add(multiply(y, x), p);
    }
}

// The polynomial of n coefficients, `step` apart, that of the highest power first.
template <typename T>
RK_DEVICE void polyval(const Space &space, u64 n, u64 step, const T *x, const T *p, T *out) {
#pragma unroll 1
    for (u64 i = global_thread(); i < space.numel; i += global_threads()) {
        const T at = x[space.offsets<1>(i).of[0]];
        T y = {};
#pragma unroll 1
        for (u64 k = 0; k < n; ++k) {
            y = horner(y, at, p[k * step]);
        }
        out[i] = y;
    }
}

// A row of out for each of the axes of these lengths: the coordinates of flat places, the first ones counted round.
template <typename T>
RK_DEVICE void unravel_index(const Space &space, u64 axes, const u64 *lengths, const T *ids, T *out) {
    using Wide = choose<is_signed_integer<T>, i64, u64>;
#pragma unroll 1
    for (u64 i = global_thread(); i < space.numel; i += global_threads()) {
        Wide rest = static_cast<Wide>(ids[space.offsets<1>(i).of[0]]);
#pragma unroll 1
        for (u64 axis = axes; axis-- > 0;) {
            const Wide length = static_cast<Wide>(lengths[axis]);
            Wide quotient = length == 0 ? rest : rest / length;
            Wide place = rest - quotient * length;
            if (place < 0) {
                place += length;
                --quotient;
            }
            out[axis * space.numel + i] = static_cast<T>(place);
            rest = quotient;
        }
    }
}

#define GRADIENT(T)                                                                                               \
    RK_KERNEL gradient_##T(RK_LAYOUT, u64 n, u64 right, u64 step, f64 spacing, const T *inp, T *out) {            \
        gradient<T>({numel, num_dims, info}, n, right, step, static_cast<arith<T>>(spacing), inp, out);           \
    }
#define AREAS(T)                                                                                                  \
    RK_KERNEL areas_##T(RK_LAYOUT, u64 y_step, u64 x_step, bool are_places, T dx, const T *y, const T *x, T *out) { \
        areas<T>({numel, num_dims, info}, y_step, x_step, are_places, dx, y, x, out);                             \
    }
#define INTERP(T)                                                                                                 \
    RK_KERNEL interp_##T(RK_LAYOUT, u64 n, u64 place_step, u64 value_step, u64 out_step, bool by_inverse,         \
                         f64 at_nan, bool has_left, bool has_right, f64 left, f64 right, const T *x,              \
                         const T *places, const T *values, T *out) {                                              \
        interp<T>({numel, num_dims, info}, n, out_step, by_inverse, at_nan, {has_left, left}, {has_right, right}, \
                  x, {places, place_step}, {values, value_step}, out);                                            \
    }
#define POLYVAL(T)                                                                                                \
    RK_KERNEL polyval_##T(RK_LAYOUT, u64 n, u64 step, const T *x, const T *p, T *out) {                           \
        polyval<T>({numel, num_dims, info}, n, step, x, p, out);                                                  \
    }
#define UNRAVEL_INDEX(T)                                                                                          \
    RK_KERNEL unravel_index_##T(RK_LAYOUT, u64 axes, const u64 *lengths, const T *ids, T *out) {                  \
        unravel_index<T>({numel, num_dims, info}, axes, lengths, ids, out);                                       \
    }

#include "instances/series.inc"

}  // namespace rk
