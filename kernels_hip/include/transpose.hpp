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
#pragma unroll 1
        for (u64 d = space.num_dims - 1; d-- > 0;) {
            const u64 extent = space.info[d];
            if (d != plane.unit) {
                const u64 quotient = space.divide(index, extent);
                const u64 position = index - quotient * extent;
                inp += position * space.strides(0)[d];
                out += position * pitch;
                index = quotient;
            }
            pitch *= extent;
        }
    }
};

// A thread turns blocks of edge × edge elements in its registers; between the turns, rows of blocks change threads in
// LDS. The host's plan has a block of 256 threads a tile.
template <u32 Widest>
struct Tile {
    static constexpr u32 edge = Widest == 8 ? 2 : 4;
    static constexpr u32 words = 16;  // of edge elements, a row
    static constexpr u32 columns = words * edge;
    static constexpr u32 row_blocks = Widest == 1 ? 32 : 16;  // 128 bytes side by side in the input at least
    static constexpr u32 rows = row_blocks * edge;
    static constexpr u32 in_flight = row_blocks * words / 256;
};

// The first `left` elements of a pack: all or none where packs move as one.
template <bool Packed, typename T, u32 N>
RK_DEVICE void load(Pack<T, N> &pack, const T *source, u64 left) {
    if constexpr (Packed) {
        if (left > 0) {
            pack = *reinterpret_cast<const Pack<T, N> *>(source);
        }
    } else {
#pragma unroll
        for (u32 i = 0; i < N; ++i) {
            if (i < left) {
                pack.lane[i] = source[i];
            }
        }
    }
}

template <bool Packed, typename T, u32 N>
RK_DEVICE void store(T *target, const Pack<T, N> &pack, u64 left) {
    if constexpr (Packed) {
        if (left > 0) {
            *reinterpret_cast<Pack<T, N> *>(target) = pack;
        }
    } else {
#pragma unroll
        for (u32 i = 0; i < N; ++i) {
            if (i < left) {
                target[i] = pack.lane[i];
            }
        }
    }
}

template <bool Packed, typename In, typename Out, typename Op>
RK_DEVICE void transpose_tiles(const Space &space, const Plane &plane, const In *inp, Out *out, Op op) {
    using T = Tile<(sizeof(In) > sizeof(Out) ? sizeof(In) : sizeof(Out))>;
    constexpr u32 edge = T::edge;
    // Word w of row r lies at w ^ (r / edge): what a wave writes down a column of blocks, and what it reads along a
    // row, is spread over all banks.
    __shared__ Pack<Out, edge> tile[T::rows][T::words];
    const u64 row_tiles = (plane.rows + T::rows - 1) / T::rows;
    const u64 column_tiles = (plane.columns + T::columns - 1) / T::columns;
    const u64 tiles = space.divide(space.numel, plane.rows * plane.columns) * row_tiles * column_tiles;
    const u32 step = block_size_x();
#pragma unroll 1
    for (u64 t = block_x(); t < tiles; t += grid_x()) {
        const u64 band = space.divide(t, row_tiles);
        const u64 row = (t - band * row_tiles) * T::rows;
        const u64 index = space.divide(band, column_tiles);
        const u64 column = (band - index * column_tiles) * T::columns;
        const Slice slice(space, plane, index);
        const In *source = inp + slice.inp + column * plane.column_pitch + row;
        const u64 rows = plane.rows - row, columns = plane.columns - column;
        // All loads of a thread are on their way before the first is used.
#pragma unroll 1
        for (u32 base = thread_x(); base < T::row_blocks * T::words; base += T::in_flight * step) {
            Pack<In, edge> moved[T::in_flight][edge];
#pragma unroll
            for (u32 f = 0; f < T::in_flight; ++f) {
                const u32 k = base + f * step;
                const u32 r = k % T::row_blocks * edge, c = k / T::row_blocks * edge;
#pragma unroll
                for (u32 j = 0; j < edge; ++j) {
                    const u64 left = c + j < columns && c < T::columns && r < rows ? rows - r : 0;
                    load<Packed>(moved[f][j], source + (c + j) * plane.column_pitch + r, left);
                }
            }
#pragma unroll
            for (u32 f = 0; f < T::in_flight; ++f) {
                const u32 k = base + f * step;
                const u32 block = k % T::row_blocks, word = k / T::row_blocks;
                if (word < T::words) {
#pragma unroll
                    for (u32 i = 0; i < edge; ++i) {
                        Pack<Out, edge> turned;
#pragma unroll
                        for (u32 j = 0; j < edge; ++j) {
                            turned.lane[j] = op(moved[f][j].lane[i]);
                        }
                        tile[block * edge + i][word ^ (block % T::words)] = turned;
                    }
                }
            }
        }
        barrier();
        Out *target = out + slice.out + row * plane.row_pitch + column;
#pragma unroll 4
        for (u32 k = thread_x(); k < T::rows * T::words; k += step) {
            const u32 r = k / T::words, word = k % T::words, c = word * edge;
            const u64 left = r < rows && c < columns ? columns - c : 0;
            store<Packed>(target + r * plane.row_pitch + c, tile[r][word ^ (r / edge % T::words)], left);
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
    constexpr u32 edge = Tile<(sizeof(In) > sizeof(Out) ? sizeof(In) : sizeof(Out))>::edge;
    u64 together = plane.rows | plane.columns;
#pragma unroll 1
    for (u64 d = 0; d < space.num_dims; ++d) {
        together |= d == plane.unit ? 0 : space.strides(0)[d];
    }
    if (together % edge == 0 && is_aligned(inp, edge * sizeof(In)) && is_aligned(out, edge * sizeof(Out))) {
        transpose_tiles<true>(space, plane, inp, out, op);
    } else {
        transpose_tiles<false>(space, plane, inp, out, op);
    }
    return true;
}

}  // namespace rk
