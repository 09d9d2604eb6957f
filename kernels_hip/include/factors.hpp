// LU and Cholesky factorizations by one block or one thread a matrix, and what applies their factors.
#pragma once

#include "fields.hpp"
#include "reduce.hpp"

namespace rk {

constexpr u32 panel = 64;  // columns at most of what a block factors, and equations of what it solves

// Who has a matrix, or some columns of one, to themselves: the threads of a block, which wait for one another,
struct Block {
    static constexpr bool is_one = false;
    RK_DEVICE static u32 thread() { return thread_x(); }
    RK_DEVICE static u32 size() { return block_size_x(); }
    RK_DEVICE static u64 number() { return block_x(); }
    RK_DEVICE static u64 count() { return grid_x(); }
    RK_DEVICE static void wait() { barrier(); }
    template <typename Reduction, typename T>
    RK_DEVICE static T join(T value, T *scratch) {
        return block_reduce<Reduction>(value, scratch);
    }
};

// or one thread, for small matrices.
struct Thread {
    static constexpr bool is_one = true;
    RK_DEVICE static u32 thread() { return 0; }
    RK_DEVICE static u32 size() { return 1; }
    RK_DEVICE static u64 number() { return global_thread(); }
    RK_DEVICE static u64 count() { return global_threads(); }
    RK_DEVICE static void wait() {}
    template <typename Reduction, typename T>
    RK_DEVICE static T join(T value, T *) {
        return value;
    }
};

// A team's threads as rows of as many as there are columns, up to `panel`; a block's size is a multiple of that.
template <typename Team>
struct Lanes {
    u32 across;
    u32 column;
    u32 row;
    u32 down;

    RK_DEVICE explicit Lanes(u64 columns) {
        static_assert(panel == 1u << 6, "the bits of a full row");
        const u32 below = static_cast<u32>(columns < panel ? columns : panel) - 1;
        const u32 bits = Team::is_one || below == 0 ? 0 : 32 - static_cast<u32>(__builtin_clz(below));
        across = 1u << bits;
        column = Team::thread() & (across - 1);
        row = Team::thread() >> bits;
        down = Team::size() >> bits;
    }

    // The sum of what the column's threads have in `values`.
    template <typename T>
    RK_DEVICE T total(const T *values) const {
        T sum = values[column];
        for (u32 r = 1; r < down; ++r) {
            sum = plus_product(sum, number<T>(1), values[r * across + column]);
        }
        return sum;
    }
};

// Matrix and column of the first failure of a batch, in one word, so that the smallest is the first.
RK_DEVICE void report(u64 *status, u64 matrix, u64 column) {
    if (status != nullptr) {
        atomic_min(status, matrix << 32 | column);
    }
}

template <typename F>
struct Pivot {
    F size;
    bits_of<F> row;  // as wide, so that there is no padding
};

// The largest one, the first of several; −1 is the size of NaN.
template <typename F>
struct LargestPivot {
    RK_DEVICE static Pivot<F> identity() { return {-1, highest<bits_of<F>>()}; }
    RK_DEVICE static Pivot<F> join(Pivot<F> x, Pivot<F> y) {
        return y.size > x.size || (y.size == x.size && y.row < x.row) ? y : x;
    }
};

// Subtracts the multiple of row k from each row below that takes its element in column k away, which is divided by the
// pivot only where one thread has the matrix.
template <typename Team, typename T>
RK_DEVICE void subtract_row(u64 rows, u64 columns, u64 k, u64 stride, const Lanes<Team> &lanes, const Divisor<T> &pivot,
                            T *a) {
    const T *own = a + k * stride;
    if constexpr (Team::is_one) {
#pragma unroll 1
        for (u64 i = k + 1; i < rows; ++i) {
            T *row = a + i * stride;
            const T multiplier = pivot.quotient(row[k]);
            row[k] = multiplier;
            for (u64 j = k + 1; j < columns; ++j) {
                row[j] = minus_product(row[j], multiplier, own[j]);
            }
        }
    } else {
        const u64 j = k + 1 + lanes.column;
        if (j < columns) {
            const T of_own = own[j];
            T *row = a + (k + 1 + lanes.row) * stride;
#pragma unroll 1
            for (u64 i = k + 1 + lanes.row; i < rows; i += lanes.down) {
                row[j] = minus_product(row[j], pivot.quotient(row[k]), of_own);
                row += lanes.down * stride;
            }
        }
    }
}

// P·A = L·U of panels, rows ≥ columns. Each pivot is the row (of the whole matrix, whose row `first` is the panel's
// first) that was exchanged with the pivot's own. Multipliers are divided by their pivots at the end only: a column less
// to wait for.
template <typename Team, typename T>
RK_DEVICE void factor_lu(u64 rows, u64 columns, u64 batch, u64 first, u64 stride, u64 step, u64 pivots_step, T *all,
                         i32 *pivots, u64 *status) {
    using F = real_of<T>;
    using Largest = LargestPivot<F>;
    __shared__ Pivot<F> scratch[max_waves];
    __shared__ Divisor<T> divisors[panel];
    const Lanes<Team> lanes(columns);
#pragma unroll 1
    for (u64 matrix = Team::number(); matrix < batch; matrix += Team::count()) {
        T *a = all + matrix * step;
#pragma unroll 1
        for (u64 k = 0; k < columns; ++k) {
            Pivot<F> best = Largest::identity();
#pragma unroll 1
            for (u64 i = k + Team::thread(); i < rows; i += Team::size()) {
                const F size = rough_size(a[i * stride + k]);
                best = Largest::join(best, {size >= 0 ? size : -1, static_cast<bits_of<F>>(i)});
            }
            best = Team::template join<Largest>(best, scratch);
            T *own = a + k * stride;
            if (best.row != k) {
                T *other = a + best.row * stride;
                for (u64 j = Team::thread(); j < columns; j += Team::size()) {
                    const T kept = own[j];
                    own[j] = other[j];
                    other[j] = kept;
                }
            }
            Team::wait();
            const Divisor<T> pivot = best.size == 0 ? Divisor<T>::none() : Divisor<T>::by(own[k]);
            if (Team::thread() == 0) {
                pivots[matrix * pivots_step + first + k] = static_cast<i32>(first + best.row);
                if constexpr (!Team::is_one) {
                    divisors[k] = pivot;
                }
                if (best.size == 0) {
                    report(status, matrix, first + k);
                }
            }
            subtract_row<Team>(rows, columns, k, stride, lanes, pivot, a);
            Team::wait();
        }
        if constexpr (!Team::is_one) {
#pragma unroll 1
            for (u64 i = 1 + lanes.row; i < rows; i += lanes.down) {
                for (u64 k = lanes.column; k < (i < columns ? i : columns); k += lanes.across) {
                    a[i * stride + k] = divisors[k].quotient(a[i * stride + k]);
                }
            }
        }
        Team::wait();  // the divisors are written for the next matrix
    }
}

// A = L·Lᴴ from the lower triangle of blocks of up to `panel` rows; zeros above them, in the whole matrix, whose row
// `first` is the block's first. Columns are divided by their roots at the end only.
template <typename Team, typename T>
RK_DEVICE void factor_cholesky(u64 n, u64 batch, u64 first, u64 stride, u64 step, T *all, u64 *status) {
    using F = real_of<T>;
    const Lanes<Team> lanes(n);
#pragma unroll 1
    for (u64 matrix = Team::number(); matrix < batch; matrix += Team::count()) {
        T *a = all + matrix * step;
#pragma unroll 1
        for (u64 k = 0; k < n; ++k) {
            const F pivot = real_part(a[k * stride + k]);
            if (Team::thread() == 0 && !(pivot > 0)) {
                report(status, matrix, first + k);
            }
            const Divisor<F> divisor = Divisor<F>::by(pivot);
            for (u64 j = k + 1 + lanes.column; j < n; j += lanes.across) {
                const T across = divisor.quotient(conjugate(a[j * stride + k]));
                T *row = a + (k + 1 + lanes.row) * stride;
#pragma unroll 1
                for (u64 i = k + 1 + lanes.row; i < n; i += lanes.down) {
                    if (j <= i) {
                        row[j] = minus_product(row[j], row[k], across);
                    }
                    row += lanes.down * stride;
                }
            }
            Team::wait();
        }
#pragma unroll 1
        for (u64 i = lanes.row; i < n; i += lanes.down) {
            for (u64 j = lanes.column; j < i; j += lanes.across) {
                const F root = sqrt(real_part(a[j * stride + j]));
                a[i * stride + j] = Divisor<F>::by(root).quotient(a[i * stride + j]);
            }
        }
        Team::wait();
        for (u64 i = Team::thread(); i < n; i += Team::size()) {
            a[i * stride + i] = number<T>(sqrt(real_part(a[i * stride + i])));
        }
        const u64 above = first + n;
#pragma unroll 1
        for (u64 i = lanes.row; i < above; i += lanes.down) {
            T *row = a - (first - i) * stride;
            for (u64 j = lanes.column + (i < first ? 0 : i - first + 1); j < n; j += lanes.across) {
                row[j] = number<T>(0);
            }
        }
    }
}

// Exchanges row `first` with the row that its pivot names, then the next, `count` of them, in all columns but those of
// the gap. A thread has a column of a matrix to itself.
template <typename T>
RK_DEVICE void swap_rows(u64 columns, u64 gap, u64 gap_width, u64 batch, u64 first, u64 count, u64 stride, u64 step,
                         u64 pivots_step, const i32 *pivots, T *all) {
#pragma unroll 1
    for (u64 work = global_thread(); work < batch * columns; work += global_threads()) {
        const u64 matrix = work / columns;
        const u64 column = work - matrix * columns;
        T *a = all + matrix * step + (column < gap ? column : column + gap_width);
        const i32 *rows = pivots + matrix * pivots_step;
#pragma unroll 1
        for (u64 i = first; i < first + count; ++i) {
            const u64 other = static_cast<u64>(rows[i]);
            const T kept = a[i * stride];
            a[i * stride] = a[other * stride];
            a[other * stride] = kept;
        }
    }
}

// a −= b, where a is a block of rows of a wider matrix and b contiguous.
template <typename T>
RK_DEVICE void subtract_block(u64 rows, u64 columns, u64 batch, u64 stride, u64 step, const T *b, T *all) {
#pragma unroll 1
    for (u64 row = block_x(); row < batch * rows; row += grid_x()) {
        const u64 matrix = row / rows;
        T *a = all + matrix * step + (row - matrix * rows) * stride;
        for (u64 j = thread_x(); j < columns; j += block_size_x()) {
            a[j] -= b[row * columns + j];
        }
    }
}

struct Strides2D {
    u64 row;
    u64 column;
    u64 step;
};

// Solves T·X = B, with X in B's place, for triangles of up to `panel` equations. Rows are divided by the diagonal at the
// end only, so that a barrier a row is enough, where a block has up to `panel` columns of a matrix; a thread has one.
template <typename Team, typename T>
RK_DEVICE void solve_triangular(u64 n, u64 columns, u64 batch, Strides2D of_t, Strides2D of_x, bool backward, bool unit,
                                bool conjugated, const T *triangles, T *all) {
    __shared__ Divisor<T> divisors[panel];
    const Lanes<Team> lanes(columns);
    const u64 tiles = (columns + lanes.across - 1) / lanes.across;
#pragma unroll 1
    for (u64 work = Team::number(); work < batch * tiles; work += Team::count()) {
        const u64 matrix = work / tiles;
        const u64 column = (work - matrix * tiles) * lanes.across + lanes.column;
        const T *t = triangles + matrix * of_t.step;
        T *x = all + matrix * of_x.step + column * of_x.column;
        const bool inside = column < columns;
        const auto divisor = [&](u64 i) {
            const T entry = t[i * (of_t.row + of_t.column)];
            return unit ? Divisor<T>::none() : Divisor<T>::by(conjugated ? conjugate(entry) : entry);
        };
        if constexpr (!Team::is_one) {
            barrier();  // the divisors may still be read for the tile before
            for (u64 i = thread_x(); i < n; i += block_size_x()) {
                divisors[i] = divisor(i);
            }
            barrier();
        }
#pragma unroll 1
        for (u64 done = 0; done < n; ++done) {
            const u64 k = backward ? n - 1 - done : done;
            if (inside) {
                T value = x[k * of_x.row];
                if constexpr (Team::is_one) {
                    value = divisor(k).quotient(value);
                    x[k * of_x.row] = value;
                } else {
                    value = divisors[k].quotient(value);
                }
                const u64 first = lanes.row + (backward ? 0 : k + 1), end = backward ? k : n;
                const T *entry = t + first * of_t.row + k * of_t.column;
                T *row = x + first * of_x.row;
#pragma unroll 1
                for (u64 i = first; i < end; i += lanes.down) {
                    *row = minus_product(*row, conjugated ? conjugate(*entry) : *entry, value);
                    row += lanes.down * of_x.row;
                    entry += lanes.down * of_t.row;
                }
            }
            Team::wait();
        }
        if constexpr (!Team::is_one) {
            for (u64 i = lanes.row; i < n && inside && !unit; i += lanes.down) {
                x[i * of_x.row] = divisors[i].quotient(x[i * of_x.row]);
            }
        }
    }
}

}  // namespace rk
