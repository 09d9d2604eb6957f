// A = Q·R of few rows: a lane has a column of A or of Qᴴ, which begins as the unit matrix and is reflected with A.
#pragma once

#include "reflections.hpp"
#include "small_lanes.hpp"

namespace rk {

// q is rows × kept, r is kept × columns.
template <typename T>
RK_DEVICE void qr_small(u32 count, u64 num_dims, const u64 *info, u32 bits, u32 rows, u32 columns, u32 kept,
                        const Steps &of_a, const T *a, T *q, T *r) {
    __shared__ T lds[small_side * wave_size];
    const u32 rank = lane_of_team(bits), lanes = 1u << bits;
    T *shared = lds + (thread_x() - rank), *own = shared + rank;
    const u32 steps = rows < columns ? rows : columns;
#pragma unroll 1
    for (u32 first = first_of_wave(bits); first < count; first += teams_of_grid(bits)) {
        const u32 matrix = first + (thread_x() >> bits);
        const bool is_there = matrix < count;
        const u64 at = strided_offset(is_there ? matrix : 0, count, num_dims, info, info + num_dims);
        const u32 unit = rank - columns;
#pragma unroll 1
        for (u32 i = 0; i < rows; ++i) {
            own[i * wave_size] = rank < columns ? a[at + i * of_a.row + rank * of_a.column]
                                                : number<T>(static_cast<real_of<T>>(i == unit));
        }
        wave_sync();
#pragma unroll 1
        for (u32 k = 0; k < steps; ++k) {
            const Reflection<T> h = reflection<Thread>(rows, wave_size, k, shared, static_cast<f64 *>(nullptr));
            wave_sync();
            for (u32 i = k + 1 + rank; i < rows; i += lanes) {
                T *element = shared + i * wave_size + k;
                *element = h.divisor.quotient(*element);
            }
            if (rank == k) {
                own[k * wave_size] = h.first;
            }
            wave_sync();
            if (rank > k) {
                const Rows<T> reflected = {shared + k, own, wave_size, wave_size};
                const T sum = reflected.dot(k, k, rows, 1);
                reflected.subtract(k, k, rows, 1, times(conjugate(h.tau), sum));
            }
            wave_sync();
        }
#pragma unroll 1
        for (u32 i = 0; i < kept && is_there; ++i) {
            const T value = own[i * wave_size];
            if (rank < columns) {
                store(r, (matrix * kept + i) * columns + rank, i > rank ? number<T>(0) : value);
            } else if (unit < rows) {
                store(q, (matrix * rows + unit) * kept + i, conjugate(value));
            }
        }
        wave_sync();
    }
}

}  // namespace rk
