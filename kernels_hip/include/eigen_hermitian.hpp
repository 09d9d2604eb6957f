// Eigenvalues and vectors of Hermitian matrices by parallel cyclic Jacobi: each step diagonalises n / 2 blocks of two by
// two, whose rotations then pass over the whole matrix at once.
#pragma once

#include "jacobi.hpp"

namespace rk {

// One step's rotations. A thread alone touches the diagonal block of its pair. `latest` becomes the step's number where
// one rotates.
template <typename T>
RK_DEVICE void rotate_diagonal(T *a, Rotation<T> *rotations, u32 n, u32 turn, real_of<T> negligible, u32 step,
                               u32 *latest) {
    using F = real_of<T>;
    for (u32 k = block_thread(); k < n / 2; k += block_threads()) {
        const Pair pair = pair_of(k, turn, n);
        T *first = a + static_cast<u64>(pair.p) * n, *second = a + static_cast<u64>(pair.q) * n;
        const T b = first[pair.q];
        const F size = sqrt(squared(b));
        Rotation<T> by = {0, number<T>(0)};
        if (size > negligible) {
            F tangent;
            const F upper = real_part(first[pair.p]), lower = real_part(second[pair.q]);
            by = diagonalizing(upper, b, lower, size, tangent);
            first[pair.p] = number<T>(fma(-tangent, size, upper));
            second[pair.q] = number<T>(fma(tangent, size, lower));
            first[pair.q] = second[pair.p] = number<T>(0);
            *latest = step;
        }
        rotations[k] = by;
    }
}

// J^H·B·J of each block between two pairs, and its mirror image.
template <typename T>
RK_DEVICE void rotate_blocks(T *a, const Rotation<T> *rotations, u32 n, u32 turn, const Team &team) {
    for (u32 k = team.index; k < n / 2; k += team.count) {
        const Pair rows = pair_of(k, turn, n);
        const Rotation<T> of_rows = rotations[k];
        // The rows of J^H·B are the columns of B^H·J, conjugated.
        const Rotation<T> mirrored = {of_rows.lacking, conjugate(of_rows.s)};
        T *first = a + static_cast<u64>(rows.p) * n, *second = a + static_cast<u64>(rows.q) * n;
        for (u32 l = k + 1 + team.rank; l < n / 2; l += team.width) {
            const Pair columns = pair_of(l, turn, n);
            const Rotation<T> of_columns = rotations[l];
            T pp = first[columns.p], pq = first[columns.q], qp = second[columns.p], qq = second[columns.q];
            rotate(of_columns, pp, pq);
            rotate(of_columns, qp, qq);
            rotate(mirrored, pp, qp);
            rotate(mirrored, pq, qq);
            first[columns.p] = pp;
            first[columns.q] = pq;
            second[columns.p] = qp;
            second[columns.q] = qq;
            T *third = a + static_cast<u64>(columns.p) * n, *fourth = a + static_cast<u64>(columns.q) * n;
            third[rows.p] = conjugate(pp);
            fourth[rows.p] = conjugate(pq);
            third[rows.q] = conjugate(qp);
            fourth[rows.q] = conjugate(qq);
        }
    }
}

// `a` becomes diagonal; the rows of `v`, the unit matrix before, its vectors where it is there. n is even.
template <typename T>
RK_DEVICE bool jacobi(T *a, T *v, Rotation<T> *rotations, u32 n, real_of<T> negligible, const Team &team) {
    // The last step that rotated. A thread that is ahead writes a larger number, from which the others conclude the
    // same: that they go on.
    __shared__ u32 latest;
    if (block_thread() == 0) {
        latest = 0;
    }
    barrier();
    const u32 steps = n - 1;
    for (u32 step = 1, turn = 0; step <= most_sweeps * steps; ++step) {
        rotate_diagonal(a, rotations, n, turn, negligible, step, &latest);
        barrier();
        const u32 rotated = latest;
        if (rotated == step) {
            rotate_blocks(a, rotations, n, turn, team);
            for (u32 k = team.index; v != nullptr && k < n / 2; k += team.count) {
                const Rotation<T> by = rotations[k];
                if (larger_size(by.s) != 0) {
                    const Pair pair = pair_of(k, turn, n);
                    rotate_lines(by, v + static_cast<u64>(pair.p) * n, v + static_cast<u64>(pair.q) * n, n, team);
                }
            }
            barrier();
        } else if (step >= rotated + steps) {
            return true;
        }
        turn = turn + 1 == steps ? 0 : turn + 1;
    }
    return false;
}

// The lower triangle of each x decides. Values ascend; vectors, where wanted, are columns. Where the
// sweeps did not suffice, `status` falls to the matrix times 2^32. What is not finite makes everything NaN. `work` holds
// 2·(n + 1)² + n + 1 elements a workgroup.
template <typename T>
RK_DEVICE void eigen_hermitian(u64 count, u32 n, const T *x, T *work, real_of<T> *values, T *vectors, u64 *status) {
    using F = real_of<T>;
    const Team team = team_along_x();
    Team whole = team_of_block();
    const u32 even = n + n % 2;  // a last row and column of zeros take part in no rotation
    const u64 area = static_cast<u64>(even) * even;
    T *a = work + block_x() * (2 * area + even), *v = vectors == nullptr ? nullptr : a + area;
    Rotation<T> *rotations = reinterpret_cast<Rotation<T> *>(a + 2 * area);
    u32 *places = reinterpret_cast<u32 *>(rotations);
    for (u64 matrix = block_x(); matrix < count; matrix += grid_x()) {
        const T *given = x + matrix * n * n;
        F *found = values + matrix * n;
        T *columns = vectors + matrix * n * n;
        F size = 0;
        for (u32 i = team.index; i < n; i += team.count) {
            for (u32 j = team.rank; j <= i; j += team.width) {
                size = maximum(size, larger_size(given[static_cast<u64>(i) * n + j]));
            }
        }
        size = team_join<Largest<F>>(whole, size);
        const i32 exponent = is_finite(size) ? exponent_to_one(size) : 0;
        const F scale = power_of_two<F>(exponent), back = power_of_two<F>(-exponent);
        F squares = 0;
        for (u32 i = team.index; i < even; i += team.count) {
            for (u32 j = team.rank; j < even; j += team.width) {
                const u64 at = static_cast<u64>(i) * even + j;
                const u32 row = i < j ? j : i, column = i < j ? i : j;
                T value = row < n ? times_real(given[static_cast<u64>(row) * n + column], scale) : number<T>(0);
                value = i == j ? number<T>(real_part(value)) : i < j ? conjugate(value) : value;
                a[at] = value;
                if (v != nullptr) {
                    v[at] = number<T>(static_cast<F>(i == j));
                }
                squares += squared(value);
            }
        }
        squares = team_join<Total<F>>(whole, squares);
        barrier();
        const bool converged =
            !is_finite(size) || jacobi(a, v, rotations, even, sqrt(squares) * epsilon<F> / n, team);
        if (!converged && block_thread() == 0) {
            atomic_min(status, matrix << 32);
        }
        barrier();
        for (u32 i = block_thread(); i < n; i += block_threads()) {
            const F value = real_part(a[static_cast<u64>(i) * (even + 1)]);
            u32 place = 0;
            for (u32 j = 0; j < n; ++j) {
                const F other = real_part(a[static_cast<u64>(j) * (even + 1)]);
                place += other < value || (other == value && j < i);
            }
            place = is_finite(size) ? place : i;
            places[i] = place;
            found[place] = is_finite(size) ? value * back : static_cast<F>(not_a_number());
        }
        barrier();
        for (u32 i = team.index; v != nullptr && i < n; i += team.count) {
            for (u32 j = team.rank; j < n; j += team.width) {
                columns[static_cast<u64>(j) * n + places[i]] =
                    is_finite(size) ? v[static_cast<u64>(i) * even + j] : number<T>(not_a_number());
            }
        }
        barrier();
    }
}

}  // namespace rk
