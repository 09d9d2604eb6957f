// QR factorizations by Householder's reflections H = I − τ·v·vᴴ, in LAPACK's form: v's first element is 1 and not kept,
// the rest lies below the diagonal of R.
#pragma once

#include "factors.hpp"

namespace rk {

constexpr u32 most_threads = 256;

// What reflects a column onto its first element.
template <typename T>
struct Reflection {
    T tau;
    T first;            // of the reflected column
    Divisor<T> divisor;  // of the elements below, which gives v

    // From the first element and the sum of the others' squares, divided by `scale` before.
    RK_DEVICE static Reflection of(T alpha, f64 squares, f64 scale) {
        using F = real_of<T>;
        const f64 re = real_part(alpha), im = imaginary_part(alpha);
        if (squares == 0 && im == 0) {
            return {number<T>(0), alpha, Divisor<T>::none()};
        }
        const f64 x = re * scale, y = im * scale;
        const f64 size = sqrt(x * x + y * y + squares);
        const f64 beta = re < 0 || (re == 0 && copysign(1.0, re) < 0) ? size : -size;
        // The divisor is not rounded to what F has of tiny numbers.
        const F by = is_same<F, f32> ? middle_scale(static_cast<F>(size)) : static_cast<F>(scale);
        const f64 left = is_same<F, f32> ? by : 1;
        T tau, inverse;
        if constexpr (is_complex<T>) {
            tau = {static_cast<F>((beta - x) / beta), static_cast<F>(-y / beta)};
            inverse = narrow_complex<T>(reciprocal_of(c128{(x - beta) * left, y * left}));
        } else {
            tau = static_cast<F>((beta - x) / beta);
            inverse = 1 / static_cast<F>((x - beta) * left);
        }
        return {tau, number<T>(static_cast<F>(beta / scale)), {inverse, by}};
    }
};

// Of the column below row k. Numbers that f64 can't square are scaled.
template <typename Team, typename T>
RK_DEVICE Reflection<T> reflection(u64 rows, u64 stride, u64 k, const T *a, f64 *scratch) {
    const T alpha = a[k * stride + k];
    f64 scale = 1;
    if constexpr (is_same<real_of<T>, f64>) {
        f64 largest = maximum(fabs(real_part(alpha)), fabs(imaginary_part(alpha)));
        for (u64 i = k + 1 + Team::thread(); i < rows; i += Team::size()) {
            const T x = a[i * stride + k];
            largest = maximum(largest, maximum(fabs(real_part(x)), fabs(imaginary_part(x))));
        }
        scale = safe_scale(Team::template join<Maximum<f64>>(largest, scratch));
    }
    f64 squares = 0;
    for (u64 i = k + 1 + Team::thread(); i < rows; i += Team::size()) {
        const T x = a[i * stride + k];
        const f64 re = real_part(x) * scale, im = imaginary_part(x) * scale;
        squares += re * re + im * im;
    }
    return Reflection<T>::of(alpha, Team::template join<Sum<f64>>(squares, scratch), scale);
}

// A reflection's v, whose first element is 1, beside a column that it is to change.
template <typename T>
struct Rows {
    const T *v;
    T *x;
    u64 v_stride;
    u64 stride;

    // Σ conj(v[i])·x[i] over rows i = first, first + step, …
    RK_DEVICE T dot(u64 k, u64 first, u64 end, u32 step) const {
        T sum = number<T>(0);
        u64 i = first;
        if (i == k && i < end) {
            sum = x[i * stride];
            i += step;
        }
        const T *of_v = v + i * v_stride;
        const T *of_x = x + i * stride;
#pragma unroll 1
        for (; i < end; i += step) {
            sum = plus_product(sum, conjugate(*of_v), *of_x);
            of_v += step * v_stride;
            of_x += step * stride;
        }
        return sum;
    }

    // x[i] −= v[i]·by over the same rows.
    RK_DEVICE void subtract(u64 k, u64 first, u64 end, u32 step, T by) const {
        u64 i = first;
        if (i == k && i < end) {
            x[i * stride] = minus_product(x[i * stride], number<T>(1), by);
            i += step;
        }
        const T *of_v = v + i * v_stride;
        T *of_x = x + i * stride;
#pragma unroll 1
        for (; i < end; i += step) {
            *of_x = minus_product(*of_x, *of_v, by);
            of_v += step * v_stride;
            of_x += step * stride;
        }
    }
};

// A = Q·R of panels, rows ≥ columns: R on and above the diagonal, the reflections that make up Q below.
template <typename Team, typename T>
RK_DEVICE void factor_qr(u64 rows, u64 columns, u64 batch, u64 stride, u64 step, u64 tau_step, T *all, T *tau) {
    __shared__ f64 scratch[max_waves];
    __shared__ T sums[most_threads];
    const Lanes<Team> lanes(columns);
#pragma unroll 1
    for (u64 matrix = Team::number(); matrix < batch; matrix += Team::count()) {
        T *a = all + matrix * step;
#pragma unroll 1
        for (u64 k = 0; k < columns; ++k) {
            const Reflection<T> h = reflection<Team>(rows, stride, k, a, scratch);
            if (Team::thread() == 0) {
                a[k * stride + k] = h.first;
                tau[matrix * tau_step + k] = h.tau;
            }
            for (u64 i = k + 1 + Team::thread(); i < rows; i += Team::size()) {
                a[i * stride + k] = h.divisor.quotient(a[i * stride + k]);
            }
            Team::wait();
#pragma unroll 1
            for (u64 j = k + 1 + lanes.column; j < columns || !Team::is_one; j += lanes.across) {
                const Rows<T> own = {a + k, a + j, stride, stride};
                T sum = j < columns ? own.dot(k, k + lanes.row, rows, lanes.down) : number<T>(0);
                if constexpr (!Team::is_one) {
                    sums[thread_x()] = sum;
                    barrier();
                    sum = lanes.total(sums);
                }
                if (j < columns) {
                    own.subtract(k, k + lanes.row, rows, lanes.down, times(conjugate(h.tau), sum));
                }
                if constexpr (!Team::is_one) {
                    break;  // a block has a thread at least for each column
                }
            }
            Team::wait();
        }
    }
}

struct ReflectorSteps {
    u64 stride;
    u64 step;
    u64 tau_step;
};

// Multiplies columns by H₀·H₁·… (backward) or by the conjugate transpose of that, whose first factor is H₀ᴴ. A block has
// up to `panel` columns of a matrix, a thread the same rows of one at every reflection.
template <typename Team, typename T>
RK_DEVICE void reflect(u64 rows, u64 columns, u64 count, u64 batch, ReflectorSteps of_v, u64 stride, u64 step,
                       bool backward, const T *reflectors, const T *taus, T *all) {
    __shared__ T sums[2][most_threads];
    const Lanes<Team> lanes(columns);
    const u64 tiles = (columns + lanes.across - 1) / lanes.across;
    u32 turn = 0;  // sums of one reflection may still be read while those of the next are written
#pragma unroll 1
    for (u64 work = Team::number(); work < batch * tiles; work += Team::count()) {
        const u64 matrix = work / tiles;
        const u64 column = (work - matrix * tiles) * lanes.across + lanes.column;
        const T *reflector = reflectors + matrix * of_v.step;
        T *x = all + matrix * step + column;
        const bool inside = column < columns;
#pragma unroll 1
        for (u64 done = 0; done < count; ++done) {
            const u64 k = backward ? count - 1 - done : done;
            const T tau = taus[matrix * of_v.tau_step + k];
            const u64 start = k + ((lanes.row - k) & (lanes.down - 1));
            const Rows<T> own = {reflector + k, x, of_v.stride, stride};
            T sum = inside ? own.dot(k, start, rows, lanes.down) : number<T>(0);
            if constexpr (!Team::is_one) {
                sums[turn][thread_x()] = sum;
                barrier();
                sum = lanes.total(sums[turn]);
            }
            if (inside) {
                own.subtract(k, start, rows, lanes.down, times(backward ? tau : conjugate(tau), sum));
            }
            turn ^= 1;
        }
    }
}

}  // namespace rk
