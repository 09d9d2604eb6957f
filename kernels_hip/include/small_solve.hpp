// Systems of few equations, and determinants: a lane has a column of a matrix or of its right-hand sides to itself, a
// wave one matrix or several.
#pragma once

#include "determinant.hpp"
#include "small_lanes.hpp"

namespace rk {

struct System {
    u32 n;
    u32 columns;    // right-hand sides, 0 where the determinant alone is wanted
    Steps of_a;
    Steps of_b;
};

// P·A = L·U, whose L is divided away from the right-hand sides too. Returns whether rows were exchanged an odd number of
// times; `column` becomes that of the first pivot that is zero.
template <typename T>
RK_DEVICE bool eliminate(T *own, const T *shared, u32 rank, u32 n, u32 &column) {
    using F = real_of<T>;
    bool is_odd = false;
    column = n;
#pragma unroll 1
    for (u32 k = 0; k < n; ++k) {
        F best = -1;  // less than every size but NaN's
        u32 pivot_row = k;
#pragma unroll 1
        for (u32 i = k; i < n; ++i) {
            const F size = rough_size(shared[i * wave_size + k]);
            pivot_row = size > best ? i : pivot_row;
            best = size > best ? size : best;
        }
        wave_sync();
        const T kept = own[pivot_row * wave_size];
        own[pivot_row * wave_size] = own[k * wave_size];
        own[k * wave_size] = kept;
        wave_sync();
        is_odd = is_odd != (pivot_row != k);
        column = best == 0 && column == n ? k : column;
        const Divisor<T> pivot = best == 0 ? Divisor<T>::none() : Divisor<T>::by(shared[k * wave_size + k]);
#pragma unroll 1
        for (u32 i = k + 1; i < n; ++i) {
            const T multiplier = pivot.quotient(shared[i * wave_size + k]);
            if (rank > k) {
                own[i * wave_size] = minus_product(own[i * wave_size], multiplier, kept);
            }
        }
        wave_sync();
    }
    return is_odd;
}

// The X of each A·X = B, by default of the unit matrix: the inverse. Else the determinant, or its sign and its size's
// logarithm, where there is memory for them.
template <typename T>
RK_DEVICE void solve_small(u32 count, u64 num_dims, const u64 *info, u32 bits, const System &system, const T *a,
                           const T *b, T *x, T *det, T *sign, real_of<T> *log_size, u64 *status) {
    __shared__ T lds[small_side * wave_size];
    const u32 rank = lane_of_team(bits), n = system.n;
    T *shared = lds + (thread_x() - rank), *own = shared + rank;
#pragma unroll 1
    for (u32 first = first_of_wave(bits); first < count; first += teams_of_grid(bits)) {
        const u32 matrix = first + (thread_x() >> bits);
        const bool is_there = matrix < count;
        const auto at = strided_offsets<2>(is_there ? matrix : 0, count, num_dims, info, info + num_dims);
        const u32 right = rank - n;  // which right-hand side
        const bool is_right = rank >= n && right < system.columns;
#pragma unroll 1
        for (u32 i = 0; i < n; ++i) {
            T value = number<T>(static_cast<real_of<T>>(i == right));
            if (rank < n) {
                value = a[at.of[0] + i * system.of_a.row + rank * system.of_a.column];
            } else if (b != nullptr && is_right) {
                value = b[at.of[1] + i * system.of_b.row + right * system.of_b.column];
            }
            own[i * wave_size] = value;
        }
        wave_sync();
        u32 column;
        const bool is_odd = eliminate(own, shared, rank, n, column);
        if (is_there && rank == 0 && column < n) {
            report(status, matrix, column);
        }
        if (is_there && is_right) {
#pragma unroll 1
            for (u32 k = n; k-- > 0;) {
                const T value = Divisor<T>::by(shared[k * wave_size + k]).quotient(own[k * wave_size]);
                store(x, (matrix * n + k) * system.columns + right, value);
#pragma unroll 1
                for (u32 i = 0; i < k; ++i) {
                    own[i * wave_size] = minus_product(own[i * wave_size], shared[i * wave_size + k], value);
                }
            }
        }
        if (system.columns == 0 && is_there && rank == 0) {
            Scaled<T> total = {number<T>(is_odd ? -1 : 1), 0};
#pragma unroll 1
            for (u32 i = 0; i < n; ++i) {
                total = ScaledProduct<T>::join(total, Scaled<T>::of(shared[i * (wave_size + 1)], 0));
            }
            store_determinant(total, matrix, det, sign, log_size);
        }
        wave_sync();
    }
}

}  // namespace rk
