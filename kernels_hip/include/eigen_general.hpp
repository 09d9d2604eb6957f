// Eigenvalues and vectors of general matrices, in c128 throughout: Householder reflections to Hessenberg form, QR steps
// with one shift to Schur form, back substitution. Each rotation of a QR step takes one barrier.
#pragma once

#include "numbers.hpp"
#include "team.hpp"

namespace rk {

constexpr u32 most_steps = 60;  // for one eigenvalue; two or three are usual
constexpr u32 odd_step = 10;    // every so many steps another shift breaks a circle

RK_DEVICE c128 minus(c128 x, c128 y) { return {x.re - y.re, x.im - y.im}; }

// Q^H·H·Q with zeros below the subdiagonal. The rows of `q`, where it is there, are the columns of Q; `reflector` holds
// n numbers.
RK_DEVICE void to_hessenberg(c128 *h, c128 *q, c128 *reflector, u32 n, Team &whole) {
    const u32 self = block_thread(), threads = block_threads();
    for (u32 k = 0; k + 2 < n; ++k) {
        f64 tail = 0;
        for (u32 i = k + 2 + self; i < n; i += threads) {
            tail += squared(h[static_cast<u64>(i) * n + k]);
        }
        tail = team_join<Total<f64>>(whole, tail);
        if (tail == 0) {
            continue;
        }
        const c128 head = h[static_cast<u64>(k + 1) * n + k];
        const f64 size = magnitude(head), length = sqrt(fma(size, size, tail));
        const c128 turn = size == 0 ? c128{1, 0} : times_real(head, 1 / size);
        const f64 factor = 1 / (length * (length + size));  // 2 over the reflector's square
        for (u32 i = k + 1 + self; i < n; i += threads) {
            reflector[i] = i == k + 1 ? times_real(turn, size + length) : h[static_cast<u64>(i) * n + k];
        }
        barrier();
        for (u32 j = k + self; j < n; j += threads) {
            c128 dot = {0, 0};
            for (u32 i = k + 1; j > k && i < n; ++i) {
                dot = plus_product(dot, conjugate(reflector[i]), h[static_cast<u64>(i) * n + j]);
            }
            dot = times_real(dot, -factor);
            for (u32 i = k + 1; i < n; ++i) {
                c128 *element = h + static_cast<u64>(i) * n + j;
                *element = j > k ? plus_product(*element, reflector[i], dot)
                                 : times_real(turn, i == k + 1 ? -length : 0.0);
            }
        }
        barrier();
        for (u32 unit = self; unit < (q == nullptr ? n : 2 * n); unit += threads) {
            c128 *row = unit < n ? h + static_cast<u64>(unit) * n : q + (unit - n);
            const u64 stride = unit < n ? 1 : n;
            c128 dot = {0, 0};
            for (u32 j = k + 1; j < n; ++j) {
                dot = plus_product(dot, row[j * stride], reflector[j]);
            }
            dot = times_real(dot, -factor);
            for (u32 j = k + 1; j < n; ++j) {
                row[j * stride] = plus_product(row[j * stride], dot, conjugate(reflector[j]));
            }
        }
        barrier();
    }
}

// [[c, s], [-conj(s), c]]
struct Givens {
    f64 c;
    c128 s;
};

// The one that turns (x, y) into (·, 0).
RK_DEVICE Givens annihilating(c128 x, c128 y) {
    const f64 scale = power_of_two<f64>(exponent_to_one(maximum(larger_size(x), larger_size(y))));
    const c128 p = times_real(x, scale), q = times_real(y, scale);
    const f64 first = squared(p), second = squared(q);
    if (second == 0) {
        return {1, {0, 0}};
    }
    if (first < 0x1p-900) {
        return {0, times_real(conjugate(q), 1 / sqrt(second))};
    }
    const f64 inverse = 1 / sqrt(first * (first + second));
    return {first * inverse, times_real(product(p, conjugate(q)), inverse)};
}

RK_DEVICE void rotate_rows(const Givens &by, c128 &x, c128 &y) {
    const c128 first = plus_product(times_real(x, by.c), by.s, y);
    y = minus_product(times_real(y, by.c), conjugate(by.s), x);
    x = first;
}

RK_DEVICE void rotate_columns(const Givens &by, c128 &x, c128 &y) {
    const c128 first = plus_product(times_real(x, by.c), conjugate(by.s), y);
    y = minus_product(times_real(y, by.c), by.s, x);
    x = first;
}

// The eigenvalue of the last block of two by two that is nearer to its last element.
RK_DEVICE c128 shift_of(const c128 *h, u32 n, u32 last) {
    const c128 *row = h + static_cast<u64>(last) * n + last, *above = row - n;
    const c128 d = row[0], half = times_real(minus(above[-1], d), 0.5), bc = product(above[0], row[-1]);
    const c128 root = complex_sqrt(plus_product(bc, half, half));
    const c128 sum = half.re * root.re + half.im * root.im < 0 ? minus(half, root) : plus(half, root);
    return is_zero(sum) ? d : minus(d, quotient_of(bc, sum));
}

// One QR step on the rows and columns first … last of a Hessenberg matrix. `next` are two rotations in LDS.
RK_DEVICE void qr_step(c128 *h, c128 *q, u32 n, u32 first, u32 last, bool odd, Givens *next) {
    const u32 self = block_thread(), threads = block_threads();
    // Eigenvalues alone need no more than the block itself.
    const u32 top = q == nullptr ? first : 0, end = q == nullptr ? last + 1 : n;
    if (self == 0) {
        const c128 *row = h + static_cast<u64>(last) * n + last;
        c128 shift = shift_of(h, n, last);
        if (odd) {
            shift = plus(row[0], {rough_size(row[-1]), 0});
        }
        const c128 *begin = h + static_cast<u64>(first) * n + first;
        next[first & 1] = annihilating(minus(begin[0], shift), begin[n]);
    }
    barrier();
    for (u32 k = first; k < last; ++k) {
        const Givens by = next[k & 1];
        c128 *upper = h + static_cast<u64>(k) * n, *lower = upper + n;
        for (u32 j = k + 2 + self; j < end; j += threads) {
            rotate_rows(by, upper[j], lower[j]);
        }
        for (u32 i = top + self; i < k; i += threads) {
            c128 *row = h + static_cast<u64>(i) * n + k;
            rotate_columns(by, row[0], row[1]);
        }
        for (u32 i = self; q != nullptr && i < n; i += threads) {
            rotate_columns(by, q[static_cast<u64>(k) * n + i], q[static_cast<u64>(k + 1) * n + i]);
        }
        if (self == threads - 1) {
            // What both sides of the rotation meet, and with it the next one.
            if (k > first) {
                rotate_rows(by, upper[k - 1], lower[k - 1]);
                lower[k - 1] = {0, 0};
            }
            rotate_rows(by, upper[k], lower[k]);
            rotate_rows(by, upper[k + 1], lower[k + 1]);
            rotate_columns(by, upper[k], upper[k + 1]);
            rotate_columns(by, lower[k], lower[k + 1]);
            if (k + 1 < last) {
                c128 *below = lower + n;
                rotate_columns(by, below[k], below[k + 1]);
                next[(k + 1) & 1] = annihilating(lower[k], below[k]);
            }
        }
        barrier();
    }
}

struct LargerNumber {
    RK_DEVICE static u32 identity() { return 0; }
    RK_DEVICE static u32 join(u32 x, u32 y) { return x > y ? x : y; }
};

// QR steps until no rows are left: `qr_step(first, last, odd)` makes one on the rows from `first`, which is
// `block(last)`, to `last`. False where an eigenvalue takes too many.
template <typename Block, typename Step>
RK_DEVICE bool deflate(u32 n, const Block &block, const Step &qr_step) {
    u32 last = n - 1, step = 0;
#pragma unroll 1
    while (last > 0) {
        const u32 first = block(last);
        if (first == last) {
            --last;
            step = 0;
        } else if (step == most_steps) {
            return false;
        } else {
            ++step;
            qr_step(first, last, step % odd_step == 0);
        }
    }
    return true;
}

// Upper triangular form, or with no `q` at least its diagonal.
RK_DEVICE bool to_schur(c128 *h, c128 *q, u32 n, f64 norm, Team &whole) {
    __shared__ Givens next[2];
    const auto block = [&](u32 last) {
        u32 first = 0;
        for (u32 k = 1 + block_thread(); k <= last; k += block_threads()) {
            c128 *row = h + static_cast<u64>(k) * n + k;
            const f64 beside = rough_size(row[0]) + rough_size(row[-static_cast<i64>(n) - 1]);
            if (rough_size(row[-1]) <= epsilon<f64> * (beside == 0 ? norm : beside)) {
                row[-1] = {0, 0};
                first = k;
            }
        }
        first = team_join<LargerNumber>(whole, first);
        barrier();
        return first;
    };
    return deflate(n, block, [&](u32 first, u32 last, bool odd) { qr_step(h, q, n, first, last, odd, next); });
}

// The vectors of an upper triangular matrix as columns of `y`, one a thread; diagonal elements that are nearly equal
// are taken to differ by `least`.
RK_DEVICE void back_substitute(const c128 *h, c128 *y, u32 n, f64 least) {
    for (u32 k = block_thread(); k < n; k += block_threads()) {
        const c128 value = h[static_cast<u64>(k) * n + k];
        c128 *column = y + k;
        column[static_cast<u64>(k) * n] = {1, 0};
        for (u32 i = k; i-- > 0;) {
            const c128 *row = h + static_cast<u64>(i) * n;
            c128 sum = {0, 0};
            for (u32 j = i + 1; j <= k; ++j) {
                sum = plus_product(sum, row[j], column[static_cast<u64>(j) * n]);
            }
            c128 apart = minus(value, row[i]);
            apart = rough_size(apart) < least ? c128{least, 0} : apart;
            const c128 element = quotient_of(sum, apart);
            column[static_cast<u64>(i) * n] = element;
            const f64 size = rough_size(element);
            for (u32 j = i; size > 0x1p300 && j <= k; ++j) {
                column[static_cast<u64>(j) * n] = times_real(column[static_cast<u64>(j) * n], 1 / size);
            }
        }
    }
}

// Columns of length 1 whose largest element is real.
RK_DEVICE void normalize_columns(c128 *vectors, u32 n) {
    for (u32 k = block_thread(); k < n; k += block_threads()) {
        f64 sum = 0, largest = 0;
        c128 turn = {1, 0};
        for (u32 i = 0; i < n; ++i) {
            const c128 z = vectors[static_cast<u64>(i) * n + k];
            const f64 square = squared(z);
            sum += square;
            if (square > largest) {
                largest = square;
                turn = z;
            }
        }
        turn = times_real(conjugate(turn), 1 / (magnitude(turn) * sqrt(sum)));
        for (u32 i = 0; i < n; ++i) {
            c128 *element = vectors + static_cast<u64>(i) * n + k;
            *element = product(turn, *element);
        }
    }
}

// Values as they come; vectors, where wanted, are columns of length 1. Of a `real` matrix, imaginary parts that rounding
// may have made are 0. Where the steps did not
// suffice, or what is not finite makes all NaN, `status` falls to the matrix times 2^32. `work` holds
// 3·n² + n elements a workgroup.
RK_DEVICE void eigen_general(u64 count, u32 n, bool real, const c128 *x, c128 *work, c128 *values, c128 *vectors,
                             u64 *status) {
    Team whole = team_of_block();
    const u32 self = block_thread(), threads = block_threads();
    const u64 area = static_cast<u64>(n) * n;
    c128 *h = work + block_x() * (3 * area + n), *y = h + area, *reflector = y + 2 * area;
    c128 *q = vectors == nullptr ? nullptr : h + 2 * area;
    for (u64 matrix = block_x(); matrix < count; matrix += grid_x()) {
        const c128 *given = x + matrix * area;
        f64 size = 0;
        for (u64 i = self; i < area; i += threads) {
            size = maximum(size, larger_size(given[i]));
        }
        size = team_join<Largest<f64>>(whole, size);
        const bool finite = is_finite(size);
        const i32 exponent = finite ? exponent_to_one(size) : 0;
        const f64 back = power_of_two<f64>(-exponent);
        f64 squares = 0;
        for (u64 i = self; i < area; i += threads) {
            const c128 value = times_real(given[i], power_of_two<f64>(exponent));
            h[i] = value;
            squares += squared(value);
            if (q != nullptr) {
                q[i] = {i % (n + 1) == 0 ? 1.0 : 0.0, 0};
            }
        }
        const f64 norm = sqrt(team_join<Total<f64>>(whole, squares));
        barrier();
        bool converged = finite;
        if (finite) {
            to_hessenberg(h, q, reflector, n, whole);
            converged = to_schur(h, q, n, norm, whole);
        }
        if (!converged && self == 0) {
            atomic_min(status, matrix << 32);
        }
        for (u32 k = self; k < n; k += threads) {
            const c128 value = finite ? h[static_cast<u64>(k) * (n + 1)] : c128{not_a_number(), not_a_number()};
            const bool is_real = real && fabs(value.im) <= epsilon<f64> * norm * n;
            values[matrix * n + k] = times_real(c128{value.re, is_real ? 0.0 : value.im}, back);
        }
        if (q != nullptr) {
            c128 *columns = vectors + matrix * area;
            if (finite) {
                back_substitute(h, y, n, maximum(epsilon<f64> * norm, 0x1p-1000));
            }
            barrier();
            for (u64 i = self; i < area; i += threads) {
                const u64 row = i / n, k = i % n;
                c128 sum = {0, 0};
                for (u64 j = 0; finite && j <= k; ++j) {
                    sum = plus_product(sum, q[j * n + row], y[j * n + k]);
                }
                columns[i] = finite ? sum : c128{not_a_number(), not_a_number()};
            }
            barrier();
            normalize_columns(columns, n);
        }
        barrier();
    }
}

}  // namespace rk
