// Rows to reduce: a strided tensor whose last axes are reduced, so that row r is elements r*cols … r*cols+cols-1 in
// the order of `info`. A row of one stride is read directly, of stride 1 in 16-byte packs from wherever it starts.
#pragma once

#include "index.hpp"
#include "reductions.hpp"
#include "team.hpp"

namespace rk {

// True when the elements follow each other in memory; axes of size 1 may have any stride.
RK_DEVICE bool is_contiguous(u64 num_dims, const u64 *dims, const u64 *strides) {
    u64 expected = 1;
    bool contiguous = true;
#pragma unroll 1
    for (u64 d = num_dims; d-- > 0;) {
        contiguous = contiguous && (dims[d] == 1 || strides[d] == expected);
        expected *= dims[d];
    }
    return contiguous;
}

template <typename T>
struct Rows {
    const T *data;
    u64 numel;
    u64 cols;
    u64 num_dims;
    const u64 *info;
    bool contiguous;
    bool even;  // a row's elements are one stride apart

    RK_DEVICE Rows(u64 numel_, u64 cols_, u64 num_dims_, const u64 *info_, const T *data_)
        : data(data_), numel(numel_), cols(cols_), num_dims(num_dims_), info(info_) {
        contiguous = info == nullptr || is_contiguous(num_dims, info, info + num_dims);
        even = contiguous || (num_dims > 0 && info[num_dims - 1] == cols);
    }
    RK_DEVICE u64 stride() const { return contiguous ? 1 : info[2 * num_dims - 1]; }
    RK_DEVICE const T *at(u64 row, u64 col) const {
        const u64 linear = row * cols + col;
        return data + (contiguous ? linear : strided_offset(linear, numel, num_dims, info, info + num_dims));
    }
};

// Packs that a thread loads before it joins the first. An AMD compute unit has the waves to cover one, and not the scalar
// registers for the comparisons of several.
#if defined(__NVPTX__)
constexpr u32 packs_in_flight = 4;
#else
constexpr u32 packs_in_flight = 1;
#endif

// How far a pointer is past a 16-byte boundary, in elements.
template <typename T>
RK_DEVICE u32 misalignment(const T *pointer) {
    return static_cast<u32>(reinterpret_cast<u64>(pointer) % vector_bytes) / sizeof(T);
}

// The state of `count` adjacent elements; the first is number `index` of its row. Elements outside whole aligned packs
// are spread over the team as well.
template <typename Op, typename T>
RK_DEVICE typename Op::State packed_state(const T *data, u64 index, u64 count, const Team &team) {
    constexpr u32 width = vector_bytes / sizeof(T);
    using Vector = u32 __attribute__((ext_vector_type(4)));  // whole words until they are joined
    u64 head = (width - misalignment(data)) % width;
    head = head < count ? head : count;
    const u64 packs = (count - head) / width;
    const Vector *vectors = reinterpret_cast<const Vector *>(data + head);
    typename Op::State state = Op::identity();
    u64 p = team.rank;
    if constexpr (packs_in_flight > 1) {
        // Whole batches, without a condition inside: a load under one would be moved to where its value is joined, and a
        // pack handed on from turn to turn would be waited for where it is handed on.
        constexpr u32 batch = has_pack<Op, T, width> ? 2 : packs_in_flight;
#pragma unroll 1
        for (; p + (batch - 1) * team.width < packs; p += batch * team.width) {
            Vector loaded[batch];
#pragma unroll
            for (u32 j = 0; j < batch; ++j) {
                loaded[j] = vectors[p + j * team.width];
            }
#pragma unroll
            for (u32 j = 0; j < batch; ++j) {
                const auto pack = bit_cast<Pack<T, width>>(loaded[j]);
                state = Op::join(state, pack_state<Op>(pack, index + head + (p + j * team.width) * width));
            }
        }
    }
#pragma unroll 1
    for (; p < packs; p += team.width) {
        const auto pack = bit_cast<Pack<T, width>>(vectors[p]);
        state = Op::join(state, pack_state<Op>(pack, index + head + p * width));
    }
#pragma unroll 1
    for (u64 edge = team.rank; edge < count - packs * width; edge += team.width) {
        const u64 i = edge < head ? edge : edge + packs * width;
        state = Op::join(state, Op::element(data[i], index + i));
    }
    return state;
}

// The state of `count` elements one stride apart. Four loads are in flight before the first is used.
template <typename Op, typename T>
RK_DEVICE typename Op::State strided_state(const T *data, u64 stride, u64 index, u64 count, const Team &team) {
    typename Op::State state = Op::identity();
#pragma unroll 1
    for (u64 i = team.rank; i < count; i += 4 * team.width) {
        Pack<T, 4> loaded;
#pragma unroll
        for (u32 j = 0; j < 4; ++j) {
            const u64 k = i + j * team.width;
            loaded.lane[j] = data[(k < count ? k : i) * stride];
        }
#pragma unroll
        for (u32 j = 0; j < 4; ++j) {
            const u64 k = i + j * team.width;
            state = k < count ? Op::join(state, Op::element(loaded.lane[j], index + k)) : state;
        }
    }
    return state;
}

// This thread's share of elements begin … end-1 of a row.
template <typename Op, typename T>
RK_DEVICE typename Op::State partial_state(const Rows<T> &rows, u64 row, u64 begin, u64 end, const Team &team) {
    if (rows.even) {
        const T *data = rows.at(row, begin);
        const u64 stride = rows.stride();
        return stride == 1 ? packed_state<Op>(data, begin, end - begin, team)
                           : strided_state<Op>(data, stride, begin, end - begin, team);
    }
    typename Op::State state = Op::identity();
#pragma unroll 1
    for (u64 i = begin + team.rank; i < end; i += team.width) {
        state = Op::join(state, Op::element(*rows.at(row, i), i));
    }
    return state;
}

// Each row whole: dst[row]. With no elements there is one row per block, as Candle launches it.
template <typename Op, typename T>
RK_DEVICE void reduce_rows(const Rows<T> &rows, typename Op::Out *dst) {
    const Team team = team_along_x();
    const u64 count = rows.cols == 0 ? grid_x() : divide(rows.numel, rows.cols);
    const u64 step = static_cast<u64>(grid_x()) * team.count;
#pragma unroll 1
    for (u64 first = static_cast<u64>(block_x()) * team.count; first < count; first += step) {
        const u64 row = first + team.index;
        typename Op::State state = Op::identity();
        if (row < count) {
            state = partial_state<Op>(rows, row, 0, rows.cols, team);
        }
        state = team_join<Op>(team, state);
        if (row < count && team.rank == 0) {
            dst[row] = Op::result(state, rows.cols);
        }
    }
}

// Each row in parts of `part` elements: parts[row * parts_per_row + p], a state each. The last part may be shorter.
template <typename Op, typename T>
RK_DEVICE void reduce_parts(const Rows<T> &rows, u64 part, typename Op::State *parts) {
    const Team team = team_along_x();
    const u64 per_row = divide(rows.cols + part - 1, part);
    const u64 count = divide(rows.numel, rows.cols) * per_row;
    const u64 step = static_cast<u64>(grid_x()) * team.count;
#pragma unroll 1
    for (u64 first = static_cast<u64>(block_x()) * team.count; first < count; first += step) {
        const u64 item = first + team.index;
        typename Op::State state = Op::identity();
        if (item < count) {
            const u64 row = divide(item, per_row);
            const u64 begin = (item - row * per_row) * part;
            const u64 end = begin + part < rows.cols ? begin + part : rows.cols;
            state = partial_state<Op>(rows, row, begin, end, team);
        }
        state = team_join<Op>(team, state);
        if (item < count && team.rank == 0) {
            parts[item] = state;
        }
    }
}

// The second pass: dst[row] from the row's `per_row` states; `cols` is the number of elements they stand for.
template <typename Op>
RK_DEVICE void merge_parts(u64 rows, u64 cols, u64 per_row, const typename Op::State *parts, typename Op::Out *dst) {
    const Team team = team_along_x();
    const u64 step = static_cast<u64>(grid_x()) * team.count;
#pragma unroll 1
    for (u64 first = static_cast<u64>(block_x()) * team.count; first < rows; first += step) {
        const u64 row = first + team.index;
        typename Op::State state = Op::identity();
#pragma unroll 1
        for (u64 p = team.rank; row < rows && p < per_row; p += team.width) {
            state = Op::join(state, parts[row * per_row + p]);
        }
        state = team_join<Op>(team, state);
        if (row < rows && team.rank == 0) {
            dst[row] = Op::result(state, cols);
        }
    }
}

// Candle's older sum: any axes of `info`, each named by its length and contiguous stride, outermost first; the sums are
// added to what out holds. A block takes one output at a time: an output has one writer, so there is no atomic.
template <typename T>
RK_DEVICE void sum_axes(u64 numel, u64 num_dims, u64 num_sums, const u64 *info, const T *inp, T *out) {
    using Op = reduction::sum<T>;
    const u64 *lengths = info + 2 * num_dims;
    const u64 *strides = lengths + num_sums;
    const bool contiguous = is_contiguous(num_dims, info, info + num_dims);
    u64 per_output = 1;
    for (u64 s = 0; s < num_sums; ++s) {
        per_output *= lengths[s];
    }
    const u64 outputs = per_output == 0 ? 0 : divide(numel, per_output);
    const Team team = team_of_block();
    const u64 step = static_cast<u64>(grid_x()) * team.count;
#pragma unroll 1
    for (u64 first = static_cast<u64>(block_x()) * team.count; first < outputs; first += step) {
        const u64 output = first + team.index;
        auto state = Op::identity();
#pragma unroll 1
        for (u64 i = team.rank; output < outputs && i < per_output; i += team.width) {
            u64 linear = output;
            u64 rest = i;
#pragma unroll 1
            for (u64 s = num_sums; s-- > 0;) {
                const u64 outer = divide(linear, strides[s]);
                const u64 next = divide(rest, lengths[s]);
                const u64 position = rest - next * lengths[s];
                rest = next;
                linear = (outer * lengths[s] + position) * strides[s] + (linear - outer * strides[s]);
            }
            const u64 offset = contiguous ? linear : strided_offset(linear, numel, num_dims, info, info + num_dims);
            state = Op::join(state, Op::element(inp[offset], i));
        }
        state = team_join<Op>(team, state);
        if (output < outputs && team.rank == 0) {
            out[output] = Op::result(Op::join(Op::element(out[output], 0), state), per_output);
        }
    }
}

}  // namespace rk
