// Elementwise kernels whose input lies transposed: what the last output axis strides over, another axis holds side by
// side. Tiles go through LDS, so that both the reads and the writes of a wave are contiguous.
#pragma once

#include "elementwise.hpp"

namespace rk {

// The plane of a layout: output axis `last` by the axis `unit` along which the input is contiguous.
struct Plane {
    bool found;
    u64 unit;
    u64 rows;          // extent of axis `unit`
    u64 columns;       // extent of the last axis
    u64 row_pitch;     // of axis `unit` in the output
    u64 column_pitch;  // of the last axis in the input

    RK_DEVICE explicit Plane(const Space &space)
        : found(false), unit(0), rows(1), columns(1), row_pitch(0), column_pitch(0) {
        constexpr u64 worthwhile = 16;  // a shorter axis would leave most of a tile empty
        if (space.info == nullptr || space.num_dims < 2) {
            return;
        }
        const u64 last = space.num_dims - 1;
        const u64 *strides = space.strides(0);
        columns = space.info[last];
        column_pitch = strides[last];
        u64 pitch = columns;
        for (u64 d = last; d-- > 0;) {
            if (!found && strides[d] == 1 && space.info[d] >= worthwhile) {
                found = true;
                unit = d;
                rows = space.info[d];
                row_pitch = pitch;
            }
            pitch *= space.info[d];
        }
        found = found && columns >= worthwhile && column_pitch != 1 && column_pitch != 0;
    }
};

// Where slice `index` of all axes but the plane's begins, in the input and in the output.
struct Slice {
    u64 inp;
    u64 out;

    RK_DEVICE Slice(const Space &space, const Plane &plane, u64 index) : inp(0), out(0) {
        u64 pitch = plane.columns;
        for (u64 d = space.num_dims - 1; d-- > 0;) {
            const u64 extent = space.info[d];
            if (d != plane.unit) {
                const u64 quotient = divide(index, extent);
                const u64 position = index - quotient * extent;
                inp += position * space.strides(0)[d];
                out += position * pitch;
                index = quotient;
            }
            pitch *= extent;
        }
    }
};

constexpr u32 loads_in_flight = 4;

// Width elements move at once: a 32-bit word of the smaller types.
template <u32 Width, typename In, typename Out, typename Op>
RK_DEVICE void transpose_tiles(const Space &space, const Plane &plane, const In *inp, Out *out, Op op) {
    constexpr u32 edge = sizeof(Out) >= 4 ? 32 : 64;
    constexpr u32 packs = edge / Width;
    // An odd pitch in words spreads columns over banks; it is a multiple of the packs.
    constexpr u32 padding = sizeof(Out) >= 4 ? 1 : 4 / sizeof(Out);
    alignas(Width * sizeof(Out)) __shared__ Out tile[edge][edge + padding];
    const u64 row_tiles = (plane.rows + edge - 1) / edge;
    const u64 column_tiles = (plane.columns + edge - 1) / edge;
    const u64 tiles = divide(space.numel, plane.rows * plane.columns) * row_tiles * column_tiles;
#pragma unroll 1
    for (u64 t = block_x(); t < tiles; t += grid_x()) {
        const u64 band = divide(t, row_tiles);
        const u64 row = (t - band * row_tiles) * edge;
        const u64 index = divide(band, column_tiles);
        const u64 column = (band - index * column_tiles) * edge;
        const Slice slice(space, plane, index);
        // Several loads are on their way before the first is stored.
#pragma unroll 1
        for (u32 base = thread_x(); base < edge * packs; base += loads_in_flight * block_size_x()) {
            Pack<In, Width> moved[loads_in_flight];
#pragma unroll
            for (u32 f = 0; f < loads_in_flight; ++f) {
                const u32 k = base + f * block_size_x();
                const u64 c = column + k / packs;
                const u64 r = row + k % packs * Width;
                if (k < edge * packs && c < plane.columns && r < plane.rows) {
                    const In *source = inp + slice.inp + c * plane.column_pitch + r;
                    moved[f] = *reinterpret_cast<const Pack<In, Width> *>(source);
                }
            }
#pragma unroll
            for (u32 f = 0; f < loads_in_flight; ++f) {
                const u32 k = base + f * block_size_x();
                if (k < edge * packs) {
                    Pack<Out, Width> converted;
#pragma unroll
                    for (u32 w = 0; w < Width; ++w) {
                        converted.lane[w] = op(moved[f].lane[w]);
                    }
                    reinterpret_cast<Pack<Out, Width> *>(tile[k / packs])[k % packs] = converted;
                }
            }
        }
        barrier();
        for (u32 k = thread_x(); k < edge * packs; k += block_size_x()) {
            const u32 r = k / packs;
            const u32 c = k % packs * Width;
            if (column + c < plane.columns && row + r < plane.rows) {
                Pack<Out, Width> moved;
#pragma unroll
                for (u32 w = 0; w < Width; ++w) {
                    moved.lane[w] = tile[c + w][r];
                }
                Out *target = out + slice.out + (row + r) * plane.row_pitch + column + c;
                *reinterpret_cast<Pack<Out, Width> *>(target) = moved;
            }
        }
        barrier();
    }
}

// Whether the layout was a transposition; then out is written.
template <typename In, typename Out, typename Op>
RK_DEVICE bool transpose(const Space &space, const In *inp, Out *out, Op op) {
    const Plane plane(space);
    if (!plane.found) {
        return false;
    }
    constexpr u32 widest = sizeof(In) > sizeof(Out) ? sizeof(In) : sizeof(Out);
    constexpr u32 width = widest >= 4 ? 1 : 4 / widest;
    if constexpr (width > 1) {
        u64 together = plane.rows | plane.columns;
        for (u64 d = 0; d < space.num_dims; ++d) {
            together |= d == plane.unit ? 0 : space.strides(0)[d];
        }
        if (together % width == 0 && is_aligned(inp, width * sizeof(In)) && is_aligned(out, width * sizeof(Out))) {
            transpose_tiles<width>(space, plane, inp, out, op);
            return true;
        }
    }
    transpose_tiles<1>(space, plane, inp, out, op);
    return true;
}

}  // namespace rk
