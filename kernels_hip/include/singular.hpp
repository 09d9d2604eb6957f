// Singular values and vectors by one-sided Jacobi: rotations make the columns of the taller of A and its adjoint
// orthogonal; their lengths are then the singular values. Thousands of rotations touch a column, so those of f32 are
// carried in f64 and rounded once.
#pragma once

#include "jacobi.hpp"

namespace rk {

// Columns shorter than this, where the largest element is about 1, count as zero: further below, products of products
// of columns leave f64's range.
constexpr f64 vanishing = 0x1p-200;

// Up to which cosine two columns of T count as orthogonal: well below what rounds to f32, or what rounding `noise` sums
// of f64 leaves.
template <typename T>
RK_DEVICE f64 negligible_cosine(f64 noise) {
    return is_same<real_of<T>, f32> ? 0x1p-27 : epsilon<f64> * noise;
}

// Squared lengths of two columns and their inner product.
template <typename W>
struct Products {
    f64 first;
    f64 second;
    W inner;
};

template <typename W>
struct AddProducts {
    RK_DEVICE static Products<W> join(const Products<W> &x, const Products<W> &y) {
        return {x.first + y.first, x.second + y.second, plus(x.inner, y.inner)};
    }
};

template <typename W>
RK_DEVICE Products<W> products_of(const W *x, const W *y, u32 length, const Team &team) {
    Products<W> sums = {0, 0, number<W>(0)};
    for (u32 i = team.rank; i < length; i += team.width) {
        const W p = x[i], q = y[i];
        sums = {sums.first + squared(p), sums.second + squared(q), plus_product(sums.inner, conjugate(p), q)};
    }
    return sums;
}

// The columns `g` of `length`, which lie as rows, become orthogonal but for cosines that are negligible; `v`, where it
// is there, takes part.
template <typename W>
RK_DEVICE bool orthogonalize(W *g, W *v, u32 length, u32 n, f64 negligible, const Team &team) {
    // The last step that rotated, as in eigen_hermitian.hpp.
    __shared__ u32 latest;
    if (block_thread() == 0) {
        latest = 0;
    }
    barrier();
    const u32 even = n + n % 2, steps = even - 1;
    for (u32 step = 1, turn = 0; step <= most_sweeps * steps; ++step) {
        for (u32 base = 0; base < even / 2; base += team.count) {
            const u32 k = base + team.index;
            const Pair pair = pair_of(k < even / 2 ? k : 0, turn, even);
            const bool inside = k < even / 2 && pair.p < n;  // of odd n one column rests
            W *first = g + static_cast<u64>(pair.p) * length, *second = g + static_cast<u64>(pair.q) * length;
            const Products<W> sums =
                lanes_join<AddProducts<W>>(products_of(first, second, inside ? length : 0, team), team.width);
            const f64 x = sums.first, y = sums.second, square = squared(sums.inner);
            constexpr f64 least = vanishing * vanishing;
            if (x >= least && y >= least && square > negligible * negligible * x * y) {
                f64 tangent;
                const Rotation<W> by = diagonalizing(x, sums.inner, y, sqrt(square), tangent);
                rotate_lines(by, first, second, length, team);
                if (v != nullptr) {
                    rotate_lines(by, v + static_cast<u64>(pair.p) * n, v + static_cast<u64>(pair.q) * n, n, team);
                }
                latest = step;
            }
        }
        barrier();
        const u32 rotated = latest;
        if (step >= rotated + steps) {
            return true;
        }
        turn = turn + 1 == steps ? 0 : turn + 1;
    }
    return false;
}

// Lengths of the columns, however small.
template <typename W>
RK_DEVICE void measure(const W *g, f64 *lengths, u32 length, u32 n, const Team &team) {
    for (u32 base = 0; base < n; base += team.count) {
        const u32 j = base + team.index;
        const W *line = g + static_cast<u64>(j) * length;
        f64 sum = 0, small = 0;
        for (u32 i = team.rank; j < n && i < length; i += team.width) {
            sum += squared(line[i]);
            small += squared(times_real(line[i], 0x1p500));
        }
        sum = lanes_join<Total<f64>>(sum, team.width);
        small = lanes_join<Total<f64>>(small, team.width);
        if (j < n && team.rank == 0) {
            lengths[j] = sum < 0x1p-900 ? sqrt(small) * 0x1p-500 : sqrt(sum);
        }
    }
}

struct Candidate {
    f64 rest;
    u32 at;
};

struct LargestRest {
    RK_DEVICE static Candidate identity() { return {-1, 0}; }
    RK_DEVICE static Candidate join(const Candidate &x, const Candidate &y) {
        return x.rest > y.rest || (x.rest == y.rest && x.at < y.at) ? x : y;
    }
};

// Divides the columns by their lengths, and completes them to `kept` that are orthonormal: a column that vanishes, and
// those from n on, become the unit vector that the others leave most of, made orthogonal to them twice. `rest` and
// `dots` hold `length` and `kept` numbers.
template <typename W>
RK_DEVICE void complete(W *g, const f64 *lengths, f64 *rest, W *dots, u32 length, u32 n, u32 kept, const Team &team,
                        Team &whole) {
    for (u32 j = team.index; j < n; j += team.count) {
        for (u32 i = team.rank; lengths[j] >= vanishing && i < length; i += team.width) {
            W *element = g + static_cast<u64>(j) * length + i;
            *element = times_real(*element, 1 / lengths[j]);
        }
    }
    barrier();
    bool counted = false;
    for (u32 missing = 0; missing < kept; ++missing) {
        const auto is_there = [&](u32 j) { return j < missing || (j < n && lengths[j] >= vanishing); };
        if (is_there(missing)) {
            continue;
        }
        Candidate best = LargestRest::identity();
        for (u32 i = block_thread(); i < length; i += block_threads()) {
            f64 left = 1;
            if (counted) {
                left = rest[i];
            } else {
                for (u32 j = 0; j < kept; ++j) {
                    left -= is_there(j) ? squared(g[static_cast<u64>(j) * length + i]) : 0;
                }
                rest[i] = left;
            }
            best = LargestRest::join(best, Candidate{left, i});
        }
        counted = true;
        best = team_join<LargestRest>(whole, best);
        W *line = g + static_cast<u64>(missing) * length;
        for (u32 round = 0; round < 2; ++round) {
            for (u32 base = 0; base < kept; base += team.count) {
                const u32 j = base + team.index;
                const W *other = g + static_cast<u64>(j) * length;
                const bool there = j < kept && is_there(j);
                W dot = number<W>(0);
                for (u32 i = team.rank; round == 1 && there && i < length; i += team.width) {
                    dot = plus_product(dot, conjugate(other[i]), line[i]);
                }
                dot = lanes_join<Total<W>>(dot, team.width);
                if (there && team.rank == 0) {
                    dots[j] = round == 0 ? conjugate(other[best.at]) : dot;
                }
            }
            barrier();
            for (u32 i = block_thread(); i < length; i += block_threads()) {
                W value = round == 0 ? number<W>(static_cast<f64>(i == best.at)) : line[i];
                for (u32 j = 0; j < kept; ++j) {
                    if (is_there(j)) {
                        value = minus_product(value, dots[j], g[static_cast<u64>(j) * length + i]);
                    }
                }
                line[i] = value;
            }
            barrier();
        }
        f64 sum = 0;
        for (u32 i = block_thread(); i < length; i += block_threads()) {
            sum += squared(line[i]);
        }
        const f64 by = 1 / sqrt(team_join<Total<f64>>(whole, sum));
        for (u32 i = block_thread(); i < length; i += block_threads()) {
            line[i] = times_real(line[i], by);
            rest[i] -= squared(line[i]);
        }
        barrier();
    }
}

// Each x is rows × columns. Values descend. Vectors, where wanted, are columns at left and conjugated rows at right:
// all of the shorter side's, and `kept` of the longer one's. Where the sweeps did not suffice, or
// what is not finite makes all NaN, `status` falls to the matrix times 2^32. With l and n the longer and the shorter
// side, `work` holds a workgroup's max(kept, n)·(l + 1) + n² + 2·(n + l) elements.
template <typename T>
RK_DEVICE void singular(u64 count, u32 rows, u32 columns, u32 kept, const T *x, wide_of<T> *work, real_of<T> *values,
                        T *left, T *right, u64 *status) {
    using F = real_of<T>;
    using W = wide_of<T>;
    const Team team = team_along_x();
    Team whole = team_of_block();
    const bool wide = rows < columns, vectors = left != nullptr;
    const u32 n = wide ? rows : columns, length = wide ? columns : rows, most = kept < n ? n : kept;
    const u64 needed = static_cast<u64>(most) * (length + 1) + static_cast<u64>(n) * n + 2 * (n + length);
    f64 *lengths = reinterpret_cast<f64 *>(work + block_x() * needed);
    f64 *rest = lengths + n;
    u32 *places = reinterpret_cast<u32 *>(rest + length);
    W *g = work + block_x() * needed + 2 * (n + length);
    W *dots = g + static_cast<u64>(most) * length, *v = vectors ? dots + most : nullptr;
    for (u64 matrix = block_x(); matrix < count; matrix += grid_x()) {
        const T *given = x + matrix * rows * columns;
        F size = 0;
        for (u64 i = block_thread(); i < static_cast<u64>(rows) * columns; i += block_threads()) {
            size = maximum(size, larger_size(given[i]));
        }
        size = team_join<Largest<F>>(whole, size);
        const bool finite = is_finite(size);
        const i32 exponent = finite ? exponent_to_one(size) : 0;
        const f64 scale = power_of_two<f64>(exponent), back = power_of_two<f64>(-exponent);
        for (u32 i = team.index; i < rows; i += team.count) {
            for (u32 j = team.rank; j < columns; j += team.width) {
                const W value = times_real(in_precision<W>(given[static_cast<u64>(i) * columns + j]), scale);
                g[wide ? static_cast<u64>(i) * length + j : static_cast<u64>(j) * length + i] =
                    wide ? conjugate(value) : value;
            }
        }
        for (u32 i = team.index; vectors && i < n; i += team.count) {
            for (u32 j = team.rank; j < n; j += team.width) {
                v[static_cast<u64>(i) * n + j] = number<W>(static_cast<f64>(i == j));
            }
        }
        barrier();
        const f64 negligible = negligible_cosine<T>(4 + sqrt(static_cast<f64>(length)));
        const bool converged = finite && orthogonalize(g, v, length, n, negligible, team);
        if (!converged && block_thread() == 0) {
            atomic_min(status, matrix << 32);
        }
        barrier();
        measure(g, lengths, length, n, team);
        barrier();
        for (u32 j = block_thread(); j < n; j += block_threads()) {
            u32 place = 0;
            for (u32 i = 0; i < n; ++i) {
                place += lengths[i] > lengths[j] || (lengths[i] == lengths[j] && i < j);
            }
            places[j] = finite ? place : j;
            values[matrix * n + places[j]] = static_cast<F>(finite ? lengths[j] * back : not_a_number());
        }
        if (vectors && finite) {
            complete(g, lengths, rest, dots, length, n, kept, team, whole);
        }
        barrier();
        T *of_shorter = wide ? left : right, *of_longer = wide ? right : left;
        const u32 own = wide ? n : kept;  // columns of `left`
        for (u32 j = team.index; vectors && j < kept; j += team.count) {
            const u32 place = j < n ? places[j] : j;
            for (u32 i = team.rank; i < length; i += team.width) {
                const T value = finite ? in_precision<T>(g[static_cast<u64>(j) * length + i]) : number<T>(not_a_number());
                T *out = of_longer + matrix * kept * length;
                out[wide ? static_cast<u64>(place) * length + i : static_cast<u64>(i) * own + place] =
                    wide ? conjugate(value) : value;
            }
            for (u32 i = team.rank; j < n && i < n; i += team.width) {
                const T value = finite ? in_precision<T>(v[static_cast<u64>(j) * n + i]) : number<T>(not_a_number());
                T *out = of_shorter + matrix * n * n;
                out[wide ? static_cast<u64>(i) * own + place : static_cast<u64>(place) * n + i] =
                    wide ? value : conjugate(value);
            }
        }
        barrier();
    }
}

}  // namespace rk
