// Elementwise kernels whose input lies transposed: what the last output axis strides over, another axis holds side by
// side. Tiles go through LDS, so that both the reads and the writes of a wave are contiguous.
#pragma once

#include "elementwise.hpp"

namespace rk {

// What copies do to an element.
struct Unchanged {
    template <typename T>
    RK_DEVICE T operator()(T x) const {
        return x;
    }
};

// The plane of a layout: output axis `last` by the axis `unit` along which the input is contiguous.
struct Plane {
    bool found;
    u64 unit;
    u64 rows;          // extent of axis `unit`
    u64 columns;       // extent of the last axis
    u64 row_pitch;     // of axis `unit` in the output
    u64 column_pitch;  // of the last axis in the input
    u64 slices;        // of all other axes

    RK_DEVICE explicit Plane(const Space &space)
        : found(false), unit(0), rows(1), columns(1), row_pitch(0), column_pitch(0), slices(1) {
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
            } else {
                slices *= space.info[d];
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

    RK_DEVICE Slice(const Space &space, const Plane &plane, u32 index) : inp(0), out(0) {
        u64 pitch = plane.columns;
#pragma unroll 1
        for (u64 d = space.num_dims - 1; d-- > 0;) {
            const u64 extent = space.info[d];
            if (d != plane.unit) {
                const u32 quotient = extent > index ? 0 : index / static_cast<u32>(extent);
                const u64 position = index - quotient * static_cast<u32>(extent);
                inp += position * space.strides(0)[d];
                out += position * pitch;
                index = quotient;
            }
            pitch *= extent;
        }
    }
};

// A thread turns a block of edge × edge elements in its registers; in LDS, rows of blocks change threads. A tile is 256
// such blocks.
template <u32 Widest>
struct Tile {
    static constexpr u32 edge = Widest == 8 ? 2 : Widest == 1 ? 8 : 4;
    static constexpr u32 words = Widest == 1 ? 8 : 16;  // of edge elements, a row
    static constexpr u32 row_blocks = 256 / words;
    static constexpr u32 columns = words * edge;
    static constexpr u32 rows = row_blocks * edge;
};

// Row i of the turned block is column i of the block.
template <u32 Edge, typename Op, typename In, typename Out>
RK_DEVICE void turn(Pack<Out, Edge> (&turned)[Edge], const Pack<In, Edge> (&block)[Edge], Op op) {
#pragma unroll
    for (u32 i = 0; i < Edge; ++i) {
#pragma unroll
        for (u32 j = 0; j < Edge; ++j) {
            turned[i].lane[j] = op(block[j].lane[i]);
        }
    }
}

constexpr u32 low_halves = 0x05040100;   // of both operands of byte_permute
constexpr u32 high_halves = 0x07060302;

template <u32 Edge>
RK_DEVICE void turn(Pack<u16, Edge> (&turned)[Edge], const Pack<u16, Edge> (&block)[Edge], Unchanged) {
    using Words = Pack<u32, Edge / 2>;
#pragma unroll
    for (u32 i = 0; i < Edge; ++i) {
        Words row;
#pragma unroll
        for (u32 w = 0; w < Edge / 2; ++w) {
            const u32 first = bit_cast<Words>(block[2 * w]).lane[i / 2];
            const u32 second = bit_cast<Words>(block[2 * w + 1]).lane[i / 2];
            row.lane[w] = byte_permute(second, first, i % 2 == 0 ? low_halves : high_halves);
        }
        turned[i] = bit_cast<Pack<u16, Edge>>(row);
    }
}

template <u32 Edge>
RK_DEVICE void turn(Pack<u8, Edge> (&turned)[Edge], const Pack<u8, Edge> (&block)[Edge], Unchanged) {
    using Words = Pack<u32, Edge / 4>;
    Words rows[Edge];
#pragma unroll
    for (u32 w = 0; w < Edge / 4; ++w) {
#pragma unroll
        for (u32 v = 0; v < Edge / 4; ++v) {
            u32 word[4];
#pragma unroll
            for (u32 j = 0; j < 4; ++j) {
                word[j] = bit_cast<Words>(block[4 * w + j]).lane[v];
            }
#pragma unroll
            for (u32 half = 0; half < 2; ++half) {
                const u32 pairs = half == 0 ? 0x05010400 : 0x07030602;  // bytes 0, 0, 1, 1 or 2, 2, 3, 3
                const u32 upper = byte_permute(word[1], word[0], pairs);
                const u32 lower = byte_permute(word[3], word[2], pairs);
                rows[4 * v + 2 * half].lane[w] = byte_permute(lower, upper, low_halves);
                rows[4 * v + 2 * half + 1].lane[w] = byte_permute(lower, upper, high_halves);
            }
        }
    }
#pragma unroll
    for (u32 i = 0; i < Edge; ++i) {
        turned[i] = bit_cast<Pack<u8, Edge>>(rows[i]);
    }
}

// The first `left` elements of a pack: all or none where packs move as one.
template <bool Packed, typename T, u32 N>
RK_DEVICE void load(Pack<T, N> &pack, const T *source, u32 left) {
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
RK_DEVICE void store(T *target, const Pack<T, N> &pack, u32 left) {
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
    // Of what fits any memory, 32 bits count the tiles.
    const u32 row_tiles = static_cast<u32>((plane.rows + T::rows - 1) / T::rows);
    const u32 column_tiles = static_cast<u32>((plane.columns + T::columns - 1) / T::columns);
    const u32 tiles = static_cast<u32>(plane.slices) * row_tiles * column_tiles;
#pragma unroll 1
    for (u32 t = block_x(); t < tiles; t += grid_x()) {
        const u32 band = t / row_tiles;
        const u64 row = static_cast<u64>(t - band * row_tiles) * T::rows;
        const u32 index = band / column_tiles;
        const u64 column = static_cast<u64>(band - index * column_tiles) * T::columns;
        const Slice slice(space, plane, index);
        const u32 rows = plane.rows - row < T::rows ? static_cast<u32>(plane.rows - row) : T::rows;
        const u32 columns = plane.columns - column < T::columns ? static_cast<u32>(plane.columns - column) : T::columns;
        const In *source = inp + slice.inp + column * plane.column_pitch + row;
#pragma unroll 1
        for (u32 k = thread_x(); k < T::row_blocks * T::words; k += block_size_x()) {
            const u32 block = k % T::row_blocks, word = k / T::row_blocks;
            const u32 r = block * edge, c = word * edge;
            const In *first = source + c * plane.column_pitch + r;
            Pack<In, edge> moved[edge];
#pragma unroll
            for (u32 j = 0; j < edge; ++j) {
                load<Packed>(moved[j], first + j * plane.column_pitch, c + j < columns && r < rows ? rows - r : 0);
            }
            Pack<Out, edge> turned[edge];
            turn(turned, moved, op);
#pragma unroll
            for (u32 i = 0; i < edge; ++i) {
                tile[r + i][word ^ (block % T::words)] = turned[i];
            }
        }
        barrier();
        Out *target = out + slice.out + row * plane.row_pitch + column;
#pragma unroll 4
        for (u32 k = thread_x(); k < T::rows * T::words; k += block_size_x()) {
            const u32 r = k / T::words, word = k % T::words, c = word * edge;
            store<Packed>(target + r * plane.row_pitch + c, tile[r][word ^ (r / edge % T::words)],
                          r < rows && c < columns ? columns - c : 0);
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
