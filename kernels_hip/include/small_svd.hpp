// Singular values of few rows and columns, their vectors, and the rank and the pseudo-inverse that follow, by the
// rotations of singular.hpp: a lane has a pair of columns, and later a column. The waves' teams go on until the last of
// them is done, in which the others change nothing.
#pragma once

#include "quick.hpp"
#include "running_sum.hpp"
#include "singular.hpp"
#include "small_lanes.hpp"

namespace rk {

// Columns, a lane each, of which those that vanish become others that are orthonormal.
template <typename W>
struct SmallColumns {
    W *g;  // the team's first column
    u32 rank;
    u32 lanes;
    u32 length;
    u32 kept;
    u64 present;  // a bit for each column that is there

    RK_DEVICE bool has(u32 j) const { return (present >> j & 1) != 0; }
    RK_DEVICE W at(u32 i, u32 j) const { return g[i * wave_size + j]; }

    // What the columns leave of the unit vectors, and of which they leave most.
    RK_DEVICE u32 least_covered() const {
        Candidate best = LargestRest::identity();
#pragma unroll 1
        for (u32 i = rank; i < length; i += lanes) {
            f64 left = 1;
#pragma unroll 1
            for (u32 j = 0; j < kept; ++j) {
                left -= has(j) ? squared(at(i, j)) : 0;
            }
            best = LargestRest::join(best, Candidate{left, i});
        }
        return lanes_join<LargestRest>(best, lanes).at;
    }

    // The column `missing` less what the others have of it, in another that `dots` tells.
    RK_DEVICE void subtract(bool needed, u32 missing, const W *dots) {
#pragma unroll 1
        for (u32 i = rank; i < length && needed; i += lanes) {
            W value = at(i, missing);
#pragma unroll 1
            for (u32 j = 0; j < kept; ++j) {
                if (has(j)) {
                    value = minus_product(value, dots[j], at(i, j));
                }
            }
            g[i * wave_size + missing] = value;
        }
        wave_sync();
    }

    RK_DEVICE void complete(W *dots) {
#pragma unroll 1
        for (u32 missing = 0; missing < kept; ++missing) {
            const bool needed = !has(missing);
            if (ballot(needed) == 0) {
                continue;
            }
            const u32 best = least_covered();
            dots[rank] = conjugate(g[best * wave_size + rank]);
            wave_sync();
            for (u32 i = rank; i < length && needed; i += lanes) {
                g[i * wave_size + missing] = number<W>(static_cast<f64>(i == best));
            }
            wave_sync();
            subtract(needed, missing, dots);
            W dot = number<W>(0);
#pragma unroll 1
            for (u32 i = 0; i < length; ++i) {
                dot = plus_product(dot, conjugate(at(i, rank)), at(i, missing));
            }
            dots[rank] = dot;
            wave_sync();
            subtract(needed, missing, dots);
            f64 sum = 0;
#pragma unroll 1
            for (u32 i = 0; i < length; ++i) {
                sum += squared(at(i, missing));
            }
            const f64 by = 1 / sqrt(sum);
            wave_sync();
            for (u32 i = rank; i < length && needed; i += lanes) {
                g[i * wave_size + missing] = times_real(at(i, missing), by);
            }
            wave_sync();
            present |= static_cast<u64>(needed) << missing;
        }
    }
};

// What `diagonalizing` of jacobi.hpp gives, of 2·θ instead of tan θ: δ is half of d − a, `square` is |b|² > 0.
template <typename W>
RK_DEVICE Rotation<W> quick_rotation(f64 delta, W b, f64 square) {
    const f64 inverse = quick_reciprocal_root(fma(delta, delta, square));
    const f64 cosine_squared = fma(fabs(delta), 0.5 * inverse, 0.5);
    const f64 over_cosine = quick_reciprocal_root(cosine_squared);
    const f64 factor = 0.5 * inverse * over_cosine;  // sin θ / |b|
    const f64 lacking = square * factor * factor * quick_reciprocal(fma(cosine_squared, over_cosine, 1.0));
    return {lacking, times_real(b, copysign(factor, delta))};
}

// Makes the team's n columns `g` orthogonal; `v`, where vectors are wanted, takes part. Whether that was done.
template <typename W>
RK_DEVICE bool orthogonalize_small(W *g, W *v, u32 rank, u64 team, u32 length, u32 n, f64 negligible, bool vectors) {
    const u32 even = n + n % 2, steps = even - 1;
    u32 latest = 0, own = 0, step = 1;  // the last steps in which any team rotated, and this one
#pragma unroll 1
    for (u32 turn = 0; step <= most_sweeps * steps && step <= latest + steps; ++step) {
        const Pair pair = pair_of(rank < even / 2 ? rank : 0, turn, even);
        bool rotates = false;
        if (rank < even / 2 && pair.p < n) {  // of odd n one column rests
            W *first = g + pair.p, *second = g + pair.q;
            Products<W> sums = {0, 0, number<W>(0)};
#pragma unroll 1
            for (u32 i = 0; i < length * wave_size; i += wave_size) {
                const W p = first[i], q = second[i];
                sums = {sums.first + squared(p), sums.second + squared(q), plus_product(sums.inner, conjugate(p), q)};
            }
            const f64 x = sums.first, y = sums.second, square = squared(sums.inner);
            constexpr f64 least = vanishing * vanishing;
            rotates = x >= least && y >= least && square > negligible * negligible * x * y;
            if (rotates) {
                const Rotation<W> by = quick_rotation(0.5 * (y - x), sums.inner, square);
#pragma unroll 1
                for (u32 i = 0; i < length * wave_size; i += wave_size) {
                    rotate(by, first[i], second[i]);
                }
#pragma unroll 1
                for (u32 i = 0; i < n * wave_size && vectors; i += wave_size) {
                    rotate(by, v[i + pair.p], v[i + pair.q]);
                }
            }
        }
        const u64 rotated = ballot(rotates);
        latest = rotated != 0 ? step : latest;
        own = (rotated & team) != 0 ? step : own;
        turn = turn + 1 == steps ? 0 : turn + 1;
        wave_sync();
    }
    return step > own + steps;
}

template <typename W>
RK_DEVICE f64 sum_of_squares(const W *column, u32 length, f64 scale) {
    f64 sum = 0;
#pragma unroll 1
    for (u32 i = 0; i < length * wave_size; i += wave_size) {
        sum += squared(times_real(column[i], scale));
    }
    return sum;
}

struct SmallShape {
    u32 rows;
    u32 columns;
    u32 kept;  // vectors of the longer side
};

// The systems of a matrix that are solved with its vectors: x makes the norm of a·x − b smallest, and is the smallest
// that does; `rest` are the squares of those norms. A lane has a vector, then elements of x, then equations.
template <typename T>
struct SmallSystems {
    using W = wide_of<T>;

    const T *b;
    Steps of_b;
    u32 sides;
    T *x;
    real_of<T> *rest;

    // `near` are the vectors of the equations' side, `far` those of the other, `by` the inverse of this lane's value.
    RK_DEVICE void solve(u32 side, f64 by, const SmallShape &shape, u32 rank, u32 lanes, u32 n, const W *near,
                         const W *far, W *dots) const {
        W dot = number<W>(0);
#pragma unroll 1
        for (u32 i = 0; i < shape.rows; ++i) {
            const W right = in_precision<W>(b[i * of_b.row + side * of_b.column]);
            dot = plus_product(dot, conjugate(near[i * wave_size + rank]), right);
        }
        dots[rank] = times_real(dot, by);
        wave_sync();
#pragma unroll 1
        for (u32 i = rank; i < shape.columns; i += lanes) {
            W total = number<W>(0);
#pragma unroll 1
            for (u32 j = 0; j < n; ++j) {
                total = plus_product(total, far[i * wave_size + j], dots[j]);
            }
            store(x, i * sides + side, in_precision<T>(total));
        }
        wave_sync();
    }

    RK_DEVICE void subtract(u32 side, const T *a, const Steps &of_a, const SmallShape &shape, u32 rank,
                            u32 lanes) const {
        f64 sum = 0;
#pragma unroll 1
        for (u32 i = rank; i < shape.rows; i += lanes) {
            W value = in_precision<W>(b[i * of_b.row + side * of_b.column]);
#pragma unroll 1
            for (u32 k = 0; k < shape.columns; ++k) {
                const W factor = in_precision<W>(x[k * sides + side]);
                value = minus_product(value, in_precision<W>(a[i * of_a.row + k * of_a.column]), factor);
            }
            sum += squared(value);
        }
        sum = lanes_join<Total<f64>>(sum, lanes);
        if (rank == 0 && shape.rows != 0) {
            store(rest, side, static_cast<real_of<T>>(sum));
        }
    }
};

// Wherever there is memory for it: values, descending; vectors as in singular.hpp; how many values are above `rtol`
// times the largest, and the pseudo-inverse in which the others count as zero, or what it solves; the largest value
// over the smallest, or `inverted` that.
template <typename T>
RK_DEVICE void svd_small(u32 count, u64 num_dims, const u64 *info, u32 bits, const SmallShape &shape, const Steps &of_a,
                         f64 rtol, const T *a, real_of<T> *values, T *left, T *right, T *inverse, u64 *above,
                         const SmallSystems<T> &systems, real_of<T> *condition, bool inverted, u64 *status) {
    using F = real_of<T>;
    using W = wide_of<T>;
    __shared__ W of_g[small_side * wave_size], of_v[small_side * wave_size], of_dots[wave_size];
    __shared__ f64 of_lengths[wave_size];
    const bool wide = shape.rows < shape.columns, solves = systems.b != nullptr;
    const bool vectors = left != nullptr || inverse != nullptr || solves;
    const u32 n = wide ? shape.rows : shape.columns, length = wide ? shape.columns : shape.rows, kept = shape.kept;
    const u32 rank = lane_of_team(bits), lanes = 1u << bits, base = thread_x() - rank;
    const u64 team = ((u64(1) << lanes) - 1) << base;
    W *g = of_g + base, *v = of_v + base, *own = g + rank;
    f64 *lengths = of_lengths + base;
    const u64 along = wide ? of_a.column : of_a.row, across = wide ? of_a.row : of_a.column;
#pragma unroll 1
    for (u32 start = first_of_wave(bits); start < count; start += teams_of_grid(bits)) {
        const u32 matrix = start + (thread_x() >> bits);
        const bool is_there = matrix < count;
        const u32 own_matrix = is_there ? matrix : 0;
        const T *first = a + strided_offset(own_matrix, count, num_dims, info, info + num_dims);
        const T *column = first + (rank < n ? rank : 0) * across;
        F size = 0;
#pragma unroll 1
        for (u32 i = 0; i < length; ++i) {
            const T value = column[i * along];
            size = maximum(size, larger_size(value));
            own[i * wave_size] = in_precision<W>(value);
        }
        size = lanes_join<Largest<F>>(size, lanes);
        const bool finite = is_finite(size);
        const i32 exponent = finite ? exponent_to_one(size) : 0;
        const f64 scale = power_of_two<f64>(exponent), back = power_of_two<f64>(-exponent);
#pragma unroll 1
        for (u32 i = 0; i < length * wave_size; i += wave_size) {
            const W value = times_real(own[i], scale);
            own[i] = !finite || rank >= n ? number<W>(0) : wide ? conjugate(value) : value;
        }
#pragma unroll 1
        for (u32 i = 0; i < n && vectors; ++i) {
            v[i * wave_size + rank] = number<W>(static_cast<f64>(i == rank));
        }
        wave_sync();
        const bool converged = orthogonalize_small(g, v, rank, team, length, n, negligible_cosine<T>(8), vectors);
        if (is_there && rank == 0 && !(finite && converged)) {
            atomic_min(status, static_cast<u64>(matrix) << 32);
        }
        const f64 sum = sum_of_squares(own, length, 1.0);
        f64 inverse_of_own = 0, size_of_own;
        if (sum >= 0x1p-900) {
            inverse_of_own = quick_reciprocal_root(sum);
            size_of_own = sum * inverse_of_own;
        } else {
            size_of_own = sqrt(sum_of_squares(own, length, 0x1p500)) * 0x1p-500;
        }
        lengths[rank] = size_of_own;
        wave_sync();
        u32 place = rank;
        if (rank < n && finite) {
            place = 0;
#pragma unroll 1
            for (u32 i = 0; i < n; ++i) {
                place += lengths[i] > size_of_own || (lengths[i] == size_of_own && i < rank);
            }
        }
        const F value = static_cast<F>(finite ? size_of_own * back : not_a_number());
        if (values != nullptr && is_there && rank < n) {
            store(values, matrix * n + place, value);
        }
        if (condition != nullptr) {
            const F largest = lanes_join<Largest<F>>(rank < n ? value : static_cast<F>(0), lanes);
            const F smallest = lanes_join<Minimum<F>>(rank < n ? value : largest, lanes);
            const F ratio = inverted ? smallest / largest : largest / smallest;
            if (is_there && rank == 0) {  // of zeros to zeros as NumPy has it
                store(condition, matrix, finite && is_nan(ratio) ? highest<F>() : ratio);
            }
        }
        if (above != nullptr || inverse != nullptr || solves) {
            const F largest = lanes_join<Largest<F>>(rank < n ? value : static_cast<F>(0), lanes);
            const bool counts = rank < n && value > largest * static_cast<F>(rtol);
            const u64 counting = ballot(counts) & team;
            if (above != nullptr && is_there && rank == 0) {
                store(above, matrix, static_cast<u64>(count_bits(counting)));
            }
            lengths[rank] = !counts ? 0 : sum >= 0x1p-900 ? inverse_of_own : 1 / size_of_own;
            wave_sync();
            // A⁺ = Σ v·gᴴ / size² over the columns that count.
#pragma unroll 1
            for (u32 i = rank; inverse != nullptr && is_there && i < length; i += lanes) {
#pragma unroll 1
                for (u32 k = 0; k < n; ++k) {
                    W total = number<W>(0);
#pragma unroll 1
                    for (u32 j = 0; j < n; ++j) {
                        const W turned = v[k * wave_size + j], unit = times_real(g[i * wave_size + j], lengths[j]);
                        total = plus_product(total, times_real(turned, lengths[j]), conjugate(unit));
                    }
                    total = times_real(total, power_of_two<f64>(exponent));
                    const T element = in_precision<T>(wide ? conjugate(total) : total);
                    store(inverse, matrix * n * length + (wide ? i * n + k : k * length + i), element);
                }
            }
            if (solves) {
                const f64 by = lengths[rank];
#pragma unroll 1
                for (u32 i = 0; i < length * wave_size; i += wave_size) {
                    own[i] = times_real(own[i], by);
                }
                const u64 place_of_b = strided_offset(own_matrix, count, num_dims, info, info + 2 * num_dims);
                const u32 before = own_matrix * systems.sides;
                const SmallSystems<T> here = {systems.b + place_of_b, systems.of_b, systems.sides,
                                              systems.x + before * shape.columns, systems.rest + before};
                const SmallShape own_shape = {is_there ? shape.rows : 0, is_there ? shape.columns : 0, 0};
#pragma unroll 1
                for (u32 side = 0; side < systems.sides; ++side) {
                    here.solve(side, by * power_of_two<f64>(exponent), own_shape, rank, lanes, n, wide ? v : g,
                               wide ? g : v, of_dots + base);
                    here.subtract(side, first, of_a, own_shape, rank, lanes);
                }
            }
        }
        if (left != nullptr) {
            const bool is_column = rank < n && size_of_own >= vanishing;
            const f64 by = is_column ? inverse_of_own : 0;
#pragma unroll 1
            for (u32 i = 0; i < length * wave_size; i += wave_size) {
                own[i] = times_real(own[i], by);
            }
            wave_sync();
            SmallColumns<W> columns = {g, rank, lanes, length, kept, (ballot(is_column) & team) >> base};
            columns.complete(of_dots + base);
            T *of_shorter = wide ? left : right, *of_longer = wide ? right : left;
            const T none = number<T>(static_cast<F>(not_a_number()));
#pragma unroll 1
            for (u32 i = 0; i < length && rank < kept && is_there; ++i) {
                const T element = finite ? in_precision<T>(own[i * wave_size]) : none;
                store(of_longer, matrix * kept * length + (wide ? place * length + i : i * kept + place),
                      wide ? conjugate(element) : element);
            }
#pragma unroll 1
            for (u32 i = 0; i < n && rank < n && is_there; ++i) {
                const T element = finite ? in_precision<T>(v[i * wave_size + rank]) : none;
                store(of_shorter, matrix * n * n + (wide ? i * n + place : place * n + i),
                      wide ? element : conjugate(element));
            }
        }
        wave_sync();
    }
}

}  // namespace rk
