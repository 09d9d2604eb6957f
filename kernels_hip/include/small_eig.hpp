// Eigenvalues and vectors of small general matrices by the steps of eigen_general.hpp, a matrix a wave in LDS: a lane has
// a row, a column or an element.
#pragma once

#include "eigen_general.hpp"
#include "fields.hpp"
#include "quick.hpp"
#include "small_lanes.hpp"

namespace rk {

RK_DEVICE c128 quick_product(c128 x, c128 y) {
    return {fma(-x.im, y.im, x.re * y.re), fma(x.im, y.re, x.re * y.im)};
}

// Of numbers whose squares are normal, and so is the quotient.
RK_DEVICE c128 quick_quotient(c128 x, c128 y) {
    const f64 by = quick_reciprocal(squared(y));
    return times_real(c128{fma(x.im, y.im, x.re * y.re), fma(-x.re, y.im, x.im * y.re)}, by);
}

RK_DEVICE c128 quick_root(c128 z, f64 square) {
    const f64 half = 0.5 * fma(square, quick_reciprocal_root(square), fabs(z.re));
    const f64 inverse = quick_reciprocal_root(half);
    const f64 major = half * inverse, minor = 0.5 * z.im * inverse;
    return z.re >= 0 ? c128{major, minor} : c128{fabs(minor), copysign(major, z.im)};
}

// `annihilating` and `shift_of` of eigen_general.hpp, which tiny numbers are left to.
RK_DEVICE Givens quick_annihilating(c128 x, c128 y) {
    const f64 first = squared(x), second = squared(y), total = first + second;
    if (total < 0x1p-700) {
        return annihilating(x, y);
    }
    const f64 inverse = quick_reciprocal_root(total);
    if (first < 0x1p-900) {
        return {0, times_real(conjugate(y), inverse)};
    }
    const f64 by = quick_reciprocal_root(first) * inverse;
    return {first * by, times_real(quick_product(x, conjugate(y)), by)};
}

RK_DEVICE c128 quick_shift_of(const c128 *h, u32 n, u32 last) {
    const c128 *row = h + last * n + last, *above = row - n;
    const c128 d = row[0], half = times_real(minus(above[-1], d), 0.5), bc = quick_product(above[0], row[-1]);
    const c128 inside = plus_product(bc, half, half);
    const f64 square = squared(inside);
    if (square < 0x1p-900) {
        return shift_of(h, n, last);
    }
    const c128 root = quick_root(inside, square);
    const c128 sum = half.re * root.re + half.im * root.im < 0 ? minus(half, root) : plus(half, root);
    return minus(d, quick_quotient(bc, sum));
}

// A square matrix's elements, one a lane or several. n is at most 16.
struct Elements {
    u32 n;
    f32 inverse;
    RK_DEVICE explicit Elements(u32 n_) : n(n_), inverse(rough_reciprocal(static_cast<f32>(n_))) {}
    RK_DEVICE u32 count() const { return n * n; }
    RK_DEVICE u32 row(u32 e) const { return static_cast<u32>((static_cast<f32>(e) + 0.5f) * inverse); }
};

// Qᴴ·H·Q with zeros below the subdiagonal, and Q, where it is there.
RK_DEVICE void to_hessenberg_small(c128 *h, c128 *q, c128 *reflector, u32 n) {
    const u32 self = thread_x();
#pragma unroll 1
    for (u32 k = 0; k + 2 < n; ++k) {
        f64 tail = 0;
#pragma unroll 1
        for (u32 i = k + 2; i < n; ++i) {
            tail += squared(h[i * n + k]);
        }
        if (tail == 0) {
            continue;
        }
        const c128 head = h[(k + 1) * n + k];
        const f64 size = magnitude(head), length = sqrt(fma(size, size, tail));
        const c128 turn = size == 0 ? c128{1, 0} : times_real(head, 1 / size);
        const f64 factor = 1 / (length * (length + size));  // 2 over the reflector's square
        if (self > k && self < n) {
            reflector[self] = self == k + 1 ? times_real(turn, size + length) : h[self * n + k];
        }
        wave_sync();
        if (self >= k && self < n) {
            c128 dot = {0, 0};
#pragma unroll 1
            for (u32 i = k + 1; i < n; ++i) {
                dot = plus_product(dot, conjugate(reflector[i]), h[i * n + self]);
            }
            dot = times_real(dot, -factor);
#pragma unroll 1
            for (u32 i = k + 1; i < n; ++i) {
                c128 *element = h + i * n + self;
                *element = self > k ? plus_product(*element, reflector[i], dot)
                                    : times_real(turn, i == k + 1 ? -length : 0.0);
            }
        }
        wave_sync();
        if (self < (q == nullptr ? n : 2 * n)) {
            c128 *row = self < n ? h + self * n : q + (self - n) * n;
            c128 dot = {0, 0};
#pragma unroll 1
            for (u32 j = k + 1; j < n; ++j) {
                dot = plus_product(dot, row[j], reflector[j]);
            }
            dot = times_real(dot, -factor);
#pragma unroll 1
            for (u32 j = k + 1; j < n; ++j) {
                row[j] = plus_product(row[j], dot, conjugate(reflector[j]));
            }
        }
        wave_sync();
    }
}

// One QR step on the rows and columns first … last.
RK_DEVICE void qr_step_small(c128 *h, c128 *q, u32 n, u32 first, u32 last, bool odd) {
    const u32 self = thread_x();
    // Eigenvalues alone need no more than the block itself.
    const u32 top = q == nullptr ? first : 0, end = q == nullptr ? last + 1 : n;
    const c128 *corner = h + last * n + last;
    const c128 shift = odd ? plus(corner[0], {rough_size(corner[-1]), 0}) : quick_shift_of(h, n, last);
#pragma unroll 1
    for (u32 k = first; k < last; ++k) {
        const bool begins = k == first;
        c128 *upper = h + k * n, *lower = upper + n;
        const u32 column = begins ? k : k - 1;
        const c128 x = upper[column];
        const Givens by = quick_annihilating(begins ? minus(x, shift) : x, lower[column]);
        wave_sync();
        if (self >= column && self < end) {
            rotate_rows(by, upper[self], lower[self]);
        }
        wave_sync();
        const u32 row = self < n ? self : self - n;  // of H, or of Q
        if (self < n ? self >= top && self <= (k + 2 < last ? k + 2 : last) : q != nullptr && row < n) {
            c128 *begin = (self < n ? h : q) + row * n + k;
            rotate_columns(by, begin[0], begin[1]);
        }
        wave_sync();
    }
}

// Upper triangular form, or with no `q` at least its diagonal.
RK_DEVICE bool to_schur_small(c128 *h, c128 *q, u32 n, f64 norm) {
    const u32 self = thread_x();
    const auto block = [&](u32 last) {
        const u32 k = self > 0 && self <= last ? self : 1;
        c128 *row = h + k * n + k;
        const f64 beside = rough_size(row[0]) + rough_size(row[-static_cast<i32>(n) - 1]);
        const bool is_small = rough_size(row[-1]) <= epsilon<f64> * (beside == 0 ? norm : beside);
        wave_sync();
        if (is_small) {
            row[-1] = {0, 0};
        }
        const u64 ends = ballot(is_small && self == k);
        const u32 first = ends == 0 ? 0 : 63 - static_cast<u32>(__builtin_clzl(ends));
        wave_sync();
        return first;
    };
    return deflate(n, block, [&](u32 first, u32 last, bool odd) { qr_step_small(h, q, n, first, last, odd); });
}

// The vectors of an upper triangular matrix as columns of `y`, one a lane; diagonal elements that are nearly equal are
// taken to differ by `least`.
RK_DEVICE void back_substitute_small(const c128 *h, c128 *y, u32 n, f64 least) {
    const u32 k = thread_x();
    c128 *column = y + k;
    column[k * n] = {1, 0};
#pragma unroll 1
    for (u32 i = k; i-- > 0;) {
        const c128 *row = h + i * n;
        c128 sum = {0, 0};
#pragma unroll 1
        for (u32 j = i + 1; j <= k; ++j) {
            sum = plus_product(sum, row[j], column[j * n]);
        }
        c128 apart = minus(h[k * n + k], row[i]);
        apart = rough_size(apart) < least ? c128{least, 0} : apart;
        const c128 element = quick_quotient(sum, apart);
        column[i * n] = element;
        const f64 size = rough_size(element);
        if (size > 0x1p300) {
#pragma unroll 1
            for (u32 j = i; j <= k; ++j) {
                column[j * n] = times_real(column[j * n], 1 / size);
            }
        }
    }
}

// What makes a column's length 1 and its largest element real.
RK_DEVICE c128 normalizing(const c128 *column, u32 n) {
    f64 sum = 0, largest = 0;
    c128 turn = {1, 0};
#pragma unroll 1
    for (u32 i = 0; i < n; ++i) {
        const c128 z = column[i * n];
        const f64 square = squared(z);
        sum += square;
        if (square > largest) {
            largest = square;
            turn = z;
        }
    }
    return times_real(conjugate(turn), quick_reciprocal_root(largest) * quick_reciprocal_root(sum));
}

// Of |x|, without its sign; numbers are ordered as these words are, those that are not finite behind all others.
RK_DEVICE u32 first_word(f64 x) { return static_cast<u32>(bit_cast<u64>(x) >> 32) & 0x7fffffffu; }

// What the elements of a tensor are: bit 0 says f64, bit 1 complex.
struct NumberType {
    u32 bits;

    RK_DEVICE bool is_double() const { return (bits & 1) != 0; }
    RK_DEVICE bool is_complex() const { return (bits & 2) != 0; }
    template <typename F>
    RK_DEVICE c128 load(const F *parts, u64 i) const {
        return is_complex() ? c128{parts[2 * i], parts[2 * i + 1]} : c128{parts[i], 0};
    }
    RK_DEVICE c128 load(const u8 *data, u64 i) const {
        return is_double() ? load(reinterpret_cast<const f64 *>(data), i) : load(reinterpret_cast<const f32 *>(data), i);
    }
    // As a complex number of the same precision.
    RK_DEVICE void write(u8 *results, u32 i, c128 z) const {
        if (is_double()) {
            store(reinterpret_cast<c128 *>(results), i, z);
        } else {
            store(reinterpret_cast<c64 *>(results), i, narrow_complex<c64>(z));
        }
    }
};

// Values as they come; vectors, where wanted, are columns of length 1. Of a real matrix, imaginary parts that rounding
// may have made are 0. Where the steps did not suffice, or what is not finite makes all NaN, `status` falls to the
// matrix times 2^32.
RK_DEVICE void eig_small(u32 count, u64 num_dims, const u64 *info, NumberType type, u32 n, const Steps &of_a,
                         const u8 *a, u8 *values, u8 *vectors, u64 *status) {
    constexpr u32 area = small_side * small_side;
    __shared__ c128 h[area], of_q[area], y[area], reflector[small_side];
    const u32 self = thread_x();
    const Elements all(n);
    c128 *q = vectors == nullptr ? nullptr : of_q;
    u32 lanes = 1;
    while (lanes < wave_size && lanes < all.count()) {
        lanes *= 2;
    }
#pragma unroll 1
    for (u32 matrix = block_x(); matrix < count; matrix += grid_x()) {
        const u64 start = strided_offset(matrix, count, num_dims, info, info + num_dims);
        u32 high = 0;  // the largest part's first word, which has its exponent
#pragma unroll 1
        for (u32 e = self; e < all.count(); e += wave_size) {
            const u32 i = all.row(e);
            const c128 value = type.load(a, start + i * of_a.row + (e - i * n) * of_a.column);
            high = LargerNumber::join(high, LargerNumber::join(first_word(value.re), first_word(value.im)));
            h[e] = value;
        }
        high = shuffle(lanes_join<LargerNumber>(high, lanes), 0);
        const f64 size = bit_cast<f64>(static_cast<u64>(high) << 32);
        const bool finite = is_finite(size);
        const i32 exponent = finite ? exponent_to_one(size) : 0;
        const f64 back = power_of_two<f64>(-exponent);
#pragma unroll 1
        for (u32 e = self; e < all.count(); e += wave_size) {
            h[e] = times_real(h[e], power_of_two<f64>(exponent));
            of_q[e] = {e == all.row(e) * (n + 1) ? 1.0 : 0.0, 0};
        }
        const f64 norm = n;  // within a factor of n now
        wave_sync();
        bool converged = finite;
        if (finite) {
            to_hessenberg_small(h, q, reflector, n);
            converged = to_schur_small(h, q, n, norm);
        }
        if (!converged && self == 0) {
            atomic_min(status, static_cast<u64>(matrix) << 32);
        }
        const f64 nothing = not_a_number();
        if (self < n) {
            const c128 value = finite ? h[self * (n + 1)] : c128{nothing, nothing};
            const bool is_real = !type.is_complex() && fabs(value.im) <= epsilon<f64> * norm * n;
            type.write(values, matrix * n + self, times_real(c128{value.re, is_real ? 0.0 : value.im}, back));
            if (vectors != nullptr && finite) {
                back_substitute_small(h, y, n, epsilon<f64> * norm);
            }
        }
        wave_sync();
#pragma unroll 1
        for (u32 e = self; vectors != nullptr && e < all.count(); e += wave_size) {
            const u32 i = all.row(e), k = e - i * n;
            c128 sum = {0, 0};
#pragma unroll 1
            for (u32 j = 0; finite && j <= k; ++j) {
                sum = plus_product(sum, of_q[i * n + j], y[j * n + k]);
            }
            h[e] = sum;
        }
        wave_sync();
        if (vectors != nullptr && self < n) {
            reflector[self] = normalizing(h + self, n);
        }
        wave_sync();
#pragma unroll 1
        for (u32 e = self; vectors != nullptr && e < all.count(); e += wave_size) {
            const c128 element = quick_product(reflector[e - all.row(e) * n], h[e]);
            type.write(vectors, matrix * all.count() + e, finite ? element : c128{nothing, nothing});
        }
        wave_sync();
    }
}

}  // namespace rk
