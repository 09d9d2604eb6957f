// fused: operations of several steps in one launch, for tensors so small that launches are what they cost. Those that
// say so are right for a grid of one block only, of whole waves, and count in 32 bits.
#include "include/any_ids.hpp"
#include "include/attention.hpp"
#include "include/bitonic.hpp"
#include "include/complex_order.hpp"
#include "include/cross_entropy.hpp"
#include "include/few_writes.hpp"
#include "include/normalize.hpp"
#include "include/quantile.hpp"
#include "include/running_sum.hpp"

namespace rk {

// out[i] = inp[…] at an index, or at two: info is out's dims, inp's strides (0 for the axes of the indices), and the
// strides of the ids (0 off their axes), of one then of the other. id_info is the ids' own dims and strides. One block.
template <typename Bits>
RK_DEVICE void take(u64 numel, u64 num_dims, const u64 *info, u64 count, u64 id_dims, const u64 *id_info,
                    const AxisIds &one, const AxisIds &other, const Bits *inp, Bits *out) {
    const u64 *strides = info + num_dims;
    const bool are_two = other.ids.data != nullptr;
    one.has_outside(count, id_dims, id_info, id_info + id_dims);
    if (are_two) {
        other.has_outside(count, id_dims, id_info, id_info + 2 * id_dims);
    }
#pragma unroll 1
    for (u64 i = thread_x(); i < numel; i += block_size_x()) {
        const auto offsets = strided_offsets<2>(i, numel, num_dims, info, strides);
        const u64 at = one.place(offsets.of[1]);
        u64 offset = offsets.of[0] + at * one.step;
        bool found = at < one.length;
        if (are_two) {
            const u64 also = other.place(strided_offset(i, numel, num_dims, info, strides + 2 * num_dims));
            offset += also * other.step;
            found = found && also < other.length;
        }
        out[i] = found ? inp[offset] : Bits(0);
    }
}

constexpr u64 outside = u64(1) << 63;

// Of indices of two axes how far they lead from the element `first`, and `outside` where one is outside: info is their
// dims and the strides of both. One block.
RK_DEVICE void lead(u64 count, u64 num_dims, const u64 *info, u64 first, const AxisIds &one, const AxisIds &other,
                    u64 *out) {
    const u64 *strides = info + num_dims;
    one.has_outside(count, num_dims, info, strides);
    other.has_outside(count, num_dims, info, strides + num_dims);
#pragma unroll 1
    for (u64 i = thread_x(); i < count; i += block_size_x()) {
        const auto offsets = strided_offsets<2>(i, count, num_dims, info, strides);
        const u64 a = one.place(offsets.of[0]), b = other.place(offsets.of[1]);
        out[i] = a < one.length && b < other.length ? first + a * one.step + b * other.step : outside;
    }
}

// A row of `depth` zeros with a one at each index. One block.
RK_DEVICE void one_hot(u64 count, u64 num_dims, const u64 *info, const AnyIds &ids, u64 depth, f32 *out,
                       IdStatus *status) {
    const auto offset = [=](u64 i) { return strided_offset(i, count, num_dims, info, info + num_dims); };
    report_outside(ids, count, depth, status, offset);
#pragma unroll 1
    for (u64 i = thread_x(); i < count * depth; i += block_size_x()) {
        const u64 row = divide(i, depth, true);
        out[i] = ids.place(offset(row), depth) == i - row * depth ? 1.0f : 0.0f;
    }
}

// Offsets in a tensor seen as (left, along, right).
struct Lines {
    const u64 *strides;
    RK_DEVICE u64 at(u64 l, u64 j, u64 r) const { return l * strides[0] + j * strides[1] + r * strides[2]; }
};

struct WriteSizes {
    u64 left;
    u64 count;   // writes along the axis
    u64 length;  // of the axis
    u64 right;

    struct Position {
        u64 l;
        u64 j;
        u64 r;
    };
    RK_DEVICE Position position(u64 i, u64 along) const {
        const u64 line = right == 1 ? i : divide(i, right, true);
        const u64 l = left == 1 ? 0 : divide(line, along, true);
        return {l, line - l * along, i - line * right};
    }
};

// The first of the writes to a place adds all of them in their order, and rounds once.
template <typename T>
struct AddingWrite {
    static constexpr bool adds = true;
    RK_DEVICE static arith<T> join(arith<T> sum, T value) {
        if constexpr (is_bool<T>) {
            return sum || value;
        } else {
            return add(sum, widen(value));
        }
    }
};

// The last of the writes to a place stays.
struct LastWrite {
    static constexpr bool adds = false;
};

// out = inp, then out[l, ids[l, j, r], r] takes values[l, j, r]. info: the strides along (left, axis, right) of inp, ids,
// values and out; where ids have none but along the axis, one stands for its whole slice. An index outside is not
// written. One block; of n writes along the axis each looks at all others.
template <typename Write, typename T>
RK_DEVICE void copy_and_write(const WriteSizes &size, const u64 *info, const AnyIds &ids, const T *inp, const T *values, T *out,
                        IdStatus *status) {
    const Lines from{info}, index{info + 3}, value{info + 6}, to{info + 9};
    const bool by_slice = info[3] == 0 && info[5] == 0;
    const u64 writes = size.left * size.count * size.right;
    report_outside(ids, by_slice ? size.count : writes, size.length, status, [=](u64 i) {
        const auto at = size.position(i, size.count);
        return by_slice ? i * info[4] : index.at(at.l, at.j, at.r);
    });
#pragma unroll 1
    for (u64 i = thread_x(); i < size.left * size.length * size.right; i += block_size_x()) {
        const auto at = size.position(i, size.length);
        out[to.at(at.l, at.j, at.r)] = inp[from.at(at.l, at.j, at.r)];
    }
    barrier();
#pragma unroll 1
    for (u64 i = thread_x(); i < writes; i += block_size_x()) {
        const auto at = size.position(i, size.count);
        const auto place = [&](u64 j) { return ids.place(index.at(at.l, j, at.r), size.length); };
        const u64 mine = place(at.j);
        bool chosen = mine < size.length;
        T *target = out + to.at(at.l, mine, at.r);
        if constexpr (Write::adds) {
            for (u64 j = 0; j < at.j && chosen; ++j) {
                chosen = place(j) != mine;
            }
            if (chosen) {
                auto sum = widen(*target);
                for (u64 j = at.j; j < size.count; ++j) {
                    if (place(j) == mine) {
                        sum = Write::join(sum, values[value.at(at.l, j, at.r)]);
                    }
                }
                *target = narrow<T>(sum);
            }
        } else {
            for (u64 j = at.j + 1; j < size.count && chosen; ++j) {
                chosen = place(j) != mine;
            }
            if (chosen) {
                *target = values[value.at(at.l, at.j, at.r)];
            }
        }
    }
}

// The coordinates of the elements with a bit in `mask` set, axis d's from d · numel on; `flat`: their positions. One
// block.
template <typename Bits>
RK_DEVICE void non_zeros(u64 numel, u64 num_dims, const u64 *info, Bits mask, bool flat, const Bits *x,
                         i64 *coordinates, u64 *total) {
    __shared__ u32 scratch[max_waves];
    u64 before = 0;
#pragma unroll 1
    for (u64 base = 0; base < numel; base += block_size_x()) {
        const u64 i = base + thread_x();
        const bool found = i < numel && (x[strided_offset(i, numel, num_dims, info, info + num_dims)] & mask) != 0;
        const Running<u32> sum = block_running_sum(found ? 1u : 0u, scratch);
        if (found) {
            u64 rest = i;
            for (u64 d = flat ? 0 : num_dims; d-- > 1;) {
                const u64 quotient = divide(rest, info[d], true);
                coordinates[d * numel + before + sum.before] = static_cast<i64>(rest - quotient * info[d]);
                rest = quotient;
            }
            coordinates[before + sum.before] = static_cast<i64>(rest);
        }
        before += sum.total;
    }
    if (thread_x() == 0) {
        *total = before;
    }
}

// The slices of `right` elements for which the mask is true. One block.
template <typename Bits>
RK_DEVICE void select_true(u64 count, u64 right, const u8 *mask, const Bits *x, Bits *out, u64 *total) {
    __shared__ u32 scratch[max_waves];
    u64 before = 0;
#pragma unroll 1
    for (u64 base = 0; base < count; base += block_size_x()) {
        const u64 i = base + thread_x();
        const bool found = i < count && mask[i] != 0;
        const Running<u32> sum = block_running_sum(found ? 1u : 0u, scratch);
        for (u64 r = 0; r < right && found; ++r) {
            out[(before + sum.before) * right + r] = x[i * right + r];
        }
        before += sum.total;
    }
    if (thread_x() == 0) {
        *total = before;
    }
}

constexpr u32 most_for_unique = 1024;

// The distinct values in order, where each occurs first, which of them each element is, how often each occurs, and how
// many they are; NaN differs from NaN. What is not wanted is null. One block.
template <typename T>
RK_DEVICE void unique(u32 count, const T *x, bits_of<T> *values, i64 *indices, i64 *inverse, i64 *counts, u64 *total) {
    __shared__ u32 positions[most_for_unique];
    __shared__ u32 starts[most_for_unique];
    __shared__ u32 scratch[max_waves];
    u32 padded = 1;
    while (padded < count) {
        padded *= 2;
    }
    order_positions<false>(x, positions, count, padded);
    u32 before = 0;
#pragma unroll 1
    for (u32 base = 0; base < count; base += block_size_x()) {
        const u32 i = base + thread_x();
        const u32 position = i < count ? positions[i] : 0;
        const bool starts_here =
            i < count && (i == 0 || !(widen(x[position]) == widen(x[positions[i - 1]])));
        const Running<u32> sum = block_running_sum(starts_here ? 1u : 0u, scratch);
        const u32 group = before + sum.before + (starts_here ? 1u : 0u) - 1;
        if (starts_here) {
            starts[group] = i;
            values[group] = as_bits(x)[position];
            if (indices != nullptr) {
                indices[group] = position;
            }
        }
        if (i < count && inverse != nullptr) {
            inverse[position] = group;
        }
        before += sum.total;
    }
    barrier();
    if (counts != nullptr) {
#pragma unroll 1
        for (u32 group = thread_x(); group < before; group += block_size_x()) {
            counts[group] = (group + 1 < before ? starts[group + 1] : count) - starts[group];
        }
    }
    if (thread_x() == 0) {
        *total = before;
    }
}

// out[i] = whether x[i] is among `given`, or is not.
template <typename T>
RK_DEVICE void is_among(u64 numel, u64 count, const T *x, const T *given, bool inverted, bool *out) {
#pragma unroll 1
    for (u64 i = global_thread(); i < numel; i += global_threads()) {
        bool found = false;
#pragma unroll 1
        for (u64 j = 0; j < count; ++j) {
            found = found || widen(given[j]) == widen(x[i]);
        }
        out[i] = found != inverted;
    }
}

// Matrices up to a diagonal or from it on, zeros elsewhere. An element is `words` of Bits.
template <typename Bits>
RK_DEVICE void triangle(u64 numel, u64 num_dims, const u64 *info, u64 rows, u64 columns, u64 words, i64 diagonal,
                        bool below, const Bits *inp, Bits *out) {
    constexpr u32 width = vector_bytes / sizeof(Bits);
    using Vector = Pack<Bits, width>;
    const bool small = numel <= 0xffffffffu;
    const auto outside = [=](i64 row, i64 column) {
        return below ? column - row > diagonal : column - row < diagonal;
    };
    const bool packs = info == nullptr && words == 1 && columns % width == 0 && is_aligned(inp, vector_bytes) &&
                       is_aligned(out, vector_bytes);
    const u64 step = packs ? width : 1;
#pragma unroll 1
    for (u64 i = global_thread() * step; i < numel; i += global_threads() * step) {
        const u64 element = words == 1 ? i : divide(i, words, small);
        const u64 line = divide(element, columns, small);
        const i64 column = static_cast<i64>(element - line * columns);
        const i64 row = static_cast<i64>(line - divide(line, rows, small) * rows);
        if (packs) {
            Vector pack = *reinterpret_cast<const Vector *>(inp + i);
#pragma unroll
            for (u32 j = 0; j < width; ++j) {
                pack.lane[j] = outside(row, column + j) ? Bits(0) : pack.lane[j];
            }
            *reinterpret_cast<Vector *>(out + i) = pack;
        } else {
            const u64 offset = info == nullptr ? i : strided_offset(i, numel, num_dims, info, info + num_dims);
            out[i] = outside(row, column) ? Bits(0) : inp[offset];
        }
    }
}

template <typename T, typename Step>
RK_DEVICE void each_of_row(const Rows<T> &rows, u64 row, const Team &team, Step step) {
    const u64 stride = rows.stride();
    const T *first = rows.at(row, 0);
#pragma unroll 1
    for (u64 i = team.rank; i < rows.cols; i += team.width) {
        step(rows.even ? first[i * stride] : *rows.at(row, i));
    }
}

// dst[row] = the row's squared distances from its mean over `divisor`, or the root of that.
template <typename T>
RK_DEVICE void variance(const Rows<T> &rows, f64 divisor, bool root, T *dst) {
    using Value = arith<T>;
    Team team = team_along_x();
    const u64 count = rows.count();
#pragma unroll 1
    for (u64 first = static_cast<u64>(block_x()) * team.count; first < count;
         first += static_cast<u64>(grid_x()) * team.count) {
        const u64 row = first + team.index;
        const auto moments = team_moments<Value>(team, static_cast<Value>(rows.cols), Value(0), [&](Value scale) {
            return moments_of_lanes<Value>(lanes_of(team), scale, [&](auto take) {
                if (row < count) {
                    each_of_row(rows, row, team, [&](T x) { take(widen(x)); });
                }
            });
        });
        const Value mean = moments.squares / static_cast<Value>(divisor), back = 1 / moments.scale;
        if (row < count && team.rank == 0) {
            dst[row] = narrow<T>(root ? sqrt(mean) * back : mean * back * back);
        }
    }
}

// dst[row] = how many of the row's elements have a bit in `mask` set
template <typename Bits>
RK_DEVICE void count_non_zeros(const Rows<Bits> &rows, Bits mask, u64 *dst) {
    using Total = reduction::sum<u64>;
    reduce_items<Total>(
        team_along_x(), rows.count(),
        [&](const Team &team, u64 row) {
            u64 count = 0;
            each_of_row(rows, row, team, [&](Bits x) { count += (x & mask) != 0 ? 1 : 0; });
            return count;
        },
        [&](u64 row, u64 count) { dst[row] = count; });
}

// Each row over its Euclidean length, or over eps where that is more.
template <typename T>
struct Unit {
    using Value = arith<T>;
    Value eps;

    RK_DEVICE bool are_aligned() const { return true; }
    RK_DEVICE Value length(const ScaledSquares<Value> &squares) const {
        return maximum(sqrt(squares.sum), eps * squares.scale);
    }
    template <bool Aligned>
    RK_DEVICE void cached(Team &team, u32 cols, const T *src, T *dst) const {
        CachedRow<T, Aligned> row;
        row.load(team, cols, src);
        const auto squares = team_squares<Value>(team, eps, [&](Value scale) {
            const Value sum = row.sum(team, cols, [=](Value x) { return (x * scale) * (x * scale); });
            row.narrow_again();
            return sum;
        });
        const Value length = this->length(squares), scale = squares.scale;
        row.store(team, cols, dst, [](u32) { return 0; }, [=](int, u32, Value x) { return x / length * scale; });
    }
    RK_DEVICE void streamed(Team &team, u64 cols, const T *src, T *dst) const {
        const auto squares = team_squares<Value>(team, eps, [&](Value scale) {
            return squares_of_thread(team, cols, src, scale);
        });
        const Value length = this->length(squares);
#pragma unroll 1
        for (u64 i = team.rank; i < cols; i += team.width) {
            dst[i] = narrow<T>(widen(src[i]) / length * squares.scale);
        }
    }
};

#define TWO_AXES                                                                                                 \
    i32 id_type, const u8 *ids, u64 length, u64 step, i32 other_type, const u8 *other, u64 other_length,         \
        u64 other_step, u64 *status, u64 *other_status
#define ONE_AXIS {{ids, id_type}, length, step, reinterpret_cast<IdStatus *>(status)}
#define OTHER_AXIS {{other, other_type}, other_length, other_step, reinterpret_cast<IdStatus *>(other_status)}
#define TAKE(T)                                                                                                  \
    RK_BLOCK_KERNEL(256) take_##T(u64 numel, u64 num_dims, const u64 *info, u64 count, u64 id_dims,              \
                                  const u64 *id_info, const T *inp, T *out, TWO_AXES) {                          \
        take<T>(numel, num_dims, info, count, id_dims, id_info, ONE_AXIS, OTHER_AXIS, inp, out);                 \
    }
#define ONE_HOT(name)                                                                                            \
    RK_BLOCK_KERNEL(256) name(u64 count, u64 num_dims, const u64 *info, i32 id_type, const u8 *ids, u64 depth,   \
                              f32 *out, u64 *status) {                                                           \
        one_hot(count, num_dims, info, {ids, id_type}, depth, out, reinterpret_cast<IdStatus *>(status));        \
    }
#define LEAD(name)                                                                                               \
    RK_BLOCK_KERNEL(256) name(u64 count, u64 num_dims, const u64 *info, u64 first, u64 *out, TWO_AXES) {         \
        lead(count, num_dims, info, first, ONE_AXIS, OTHER_AXIS, out);                                           \
    }
#define CROSS_ENTROPY(T)                                                                                         \
    RK_BLOCK_KERNEL(256) cross_entropy_##T(u64 rows, u64 cols, u64 row_step, u64 col_step, u64 id_step,          \
                                           i32 id_type, const u8 *ids, const T *logits, T *out, u64 *status) {   \
        cross_entropy<T>({rows, cols, row_step, col_step, id_step}, {ids, id_type}, logits, out,                 \
                         reinterpret_cast<IdStatus *>(status));                                                  \
    }
#define WRITE_LAST(T)                                                                                            \
    RK_BLOCK_KERNEL(256) write_last_##T(u64 left, u64 count, u64 length, u64 right, const u64 *info,             \
                                        i32 id_type, const u8 *ids, const T *inp, const T *values, T *out,       \
                                        u64 *status) {                                                           \
        copy_and_write<LastWrite>({left, count, length, right}, info, {ids, id_type}, inp, values, out,                \
                            reinterpret_cast<IdStatus *>(status));                                               \
    }
#define WRITE_SUM(T)                                                                                             \
    RK_BLOCK_KERNEL(256) write_sum_##T(u64 left, u64 count, u64 length, u64 right, const u64 *info,              \
                                       i32 id_type, const u8 *ids, const T *inp, const T *values, T *out,        \
                                       u64 *status) {                                                            \
        copy_and_write<AddingWrite<T>>({left, count, length, right}, info, {ids, id_type}, inp, values, out,           \
                                 reinterpret_cast<IdStatus *>(status));                                          \
    }
#define WRITE_AT(T)                                                                                              \
    RK_BLOCK_KERNEL(256) write_at_##T(u64 count, u64 num_dims, const u64 *info, u64 right, u64 rest_dims,        \
                                      const u64 *rest_info, const T *values, T *out, TWO_AXES) {                 \
        write_at<T>(count, {num_dims, info}, right, {rest_dims, rest_info}, ONE_AXIS, OTHER_AXIS, values, out);  \
    }
#define WRITE_TRUE(T)                                                                                            \
    RK_BLOCK_KERNEL(256) write_true_##T(u64 count, u64 num_dims, const u64 *info, u64 right, u64 rest_dims,      \
                                        const u64 *rest_info, u64 expected, u64 step, const u8 *mask,            \
                                        const T *values, T *out, u64 *total) {                                   \
        write_true<T>(count, {num_dims, info}, right, {rest_dims, rest_info}, expected, step, mask, values, out, \
                      total);                                                                                    \
    }
#define REPEAT_EACH(T)                                                                                           \
    RK_BLOCK_KERNEL(256) repeat_each_##T(u64 left, u64 count, u64 right, u64 total, i32 id_type, const u8 *ids,  \
                                         u64 step, const T *x, T *out) {                                         \
        repeat_each<T>(left, count, right, total, {ids, id_type}, step, x, out);                                 \
    }
#define QUANTILE(T)                                                                                              \
    RK_BLOCK_KERNEL(256) quantile_##T(u64 rows, u32 cols, u32 low, f64 share, const T *src, T *dst) {            \
        quantile<T>(rows, cols, low, share, src, dst);                                                           \
    }
#define NON_ZEROS(T)                                                                                             \
    RK_BLOCK_KERNEL(256) non_zeros_##T(u64 numel, u64 num_dims, const u64 *info, T mask, bool flat, const T *x,  \
                                       i64 *coordinates, u64 *total) {                                           \
        non_zeros<T>(numel, num_dims, info, mask, flat, x, coordinates, total);                                  \
    }
#define SELECT_TRUE(T)                                                                                           \
    RK_BLOCK_KERNEL(256) select_true_##T(u64 count, u64 right, const u8 *mask, const T *x, T *out, u64 *total) { \
        select_true<T>(count, right, mask, x, out, total);                                                       \
    }
#define UNIQUE(T, Bits)                                                                                          \
    RK_BLOCK_KERNEL(256) unique_##T(u32 count, const T *x, Bits *values, i64 *indices, i64 *inverse,             \
                                    i64 *counts, u64 *total) {                                                   \
        unique<T>(count, x, values, indices, inverse, counts, total);                                            \
    }
#define IS_AMONG(T)                                                                                              \
    RK_KERNEL is_among_##T(u64 numel, u64 count, const T *x, const T *given, bool inverted, bool *out) {         \
        is_among<T>(numel, count, x, given, inverted, out);                                                      \
    }
#define TRIANGLE(T)                                                                                              \
    RK_KERNEL triangle_##T(u64 numel, u64 num_dims, const u64 *info, u64 rows, u64 columns, u64 words,           \
                           i64 diagonal, bool below, const T *inp, T *out) {                                     \
        triangle<T>(numel, num_dims, info, rows, columns, words, diagonal, below, inp, out);                     \
    }
#define VARIANCE(T)                                                                                              \
    RK_BLOCK_KERNEL(1024) variance_##T(u64 numel, u64 cols, u64 num_dims, const u64 *info, f64 divisor,          \
                                       bool root, const T *src, T *dst) {                                        \
        variance<T>({numel, cols, num_dims, info, src}, divisor, root, dst);                                     \
    }
#define COUNT_NON_ZEROS(T)                                                                                       \
    RK_BLOCK_KERNEL(1024) count_non_zeros_##T(u64 numel, u64 cols, u64 num_dims, const u64 *info, T mask,        \
                                              const T *src, u64 *dst) {                                          \
        count_non_zeros<T>({numel, cols, num_dims, info, src}, mask, dst);                                       \
    }
#define UNIT_ROWS(threads, T)                                                                                    \
    RK_BLOCK_KERNEL(threads) unit_rows_##T(u64 rows, u64 cols, f64 eps, const T *src, T *dst) {                  \
        normalize_rows(rows, cols, src, dst, Unit<T>{static_cast<arith<T>>(eps)});                               \
    }
#define ATTENTION(T)                                                                                             \
    RK_BLOCK_KERNEL(256) attention_##T(u64 batches, u64 queries, u64 keys, u64 features, u64 outputs,            \
                                       u64 num_dims, const u64 *info, f64 scale, bool is_truth, const T *query,  \
                                       const T *key, const T *value, const u8 *mask, T *out) {                   \
        attention<T>({batches, queries, keys, features, outputs}, num_dims, info, scale, is_truth, query, key,   \
                     value, mask, out);                                                                          \
    }

#include "instances/fused.inc"

}  // namespace rk
