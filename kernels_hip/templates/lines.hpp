// Elementwise kernels of fixed shape: by 16 bytes along dimension 0 where every operand has those side by side or repeats
// one element, through tiles in LDS where the input lies transposed, else element by element.
#pragma once

#include "templates/shape.hpp"

namespace rk {

// An operand of fixed shape and strides.
template <typename Own, typename Strides>
struct Fixed {
    using Extents = Own;
    using Steps = Strides;

    static constexpr bool has_steps_of(u64 multiple) {
        return (Own::dims[1] == 1 || Strides::strides[1] % multiple == 0) &&
               (Own::dims[2] == 1 || Strides::strides[2] % multiple == 0) &&
               (Own::dims[3] == 1 || Strides::strides[3] % multiple == 0);
    }
    // Whether `width` elements of dimension 0 lie on one boundary of as many, wherever they begin.
    static constexpr bool has_packs(u64 width) {
        return Strides::strides[0] == 1 && Own::dims[0] % width == 0 && has_steps_of(width);
    }
    static constexpr bool repeats_one() { return Own::dims[0] == 1; }

    template <typename Shape>
    RK_DEVICE static u64 at(typename Shape::Index linear) {
        return place<Shape, Own, Strides>(linear);
    }
};

template <typename T, u32 Width, typename Shape, typename Operand>
RK_DEVICE Pack<T, Width> pack_at(const T *data, typename Shape::Index linear) {
    const T *first = data + Operand::template at<Shape>(linear);
    if constexpr (Operand::repeats_one()) {
        Pack<T, Width> pack;
#pragma unroll
        for (u32 j = 0; j < Width; ++j) {
            pack.lane[j] = *first;
        }
        return pack;
    } else {
        return *reinterpret_cast<const Pack<T, Width> *>(first);
    }
}

template <typename Operand>
constexpr bool moves_packs(u64 width) {
    return Operand::repeats_one() || Operand::has_packs(width);
}

// The dimension along which the input is contiguous where that is not dimension 0, as the output's is; else 0.
template <typename Shape, typename PitchIn, typename PitchOut>
constexpr u32 turned_dimension() {
    constexpr u64 worthwhile = 16;  // a shorter one would leave most of a tile empty
    if (PitchIn::strides[0] == 1 || PitchOut::strides[0] != 1 || Shape::dims[0] < worthwhile) {
        return 0;
    }
    for (u32 d = 1; d < 4; ++d) {
        if (PitchIn::strides[d] == 1 && Shape::dims[d] >= worthwhile) {
            return d;
        }
    }
    return 0;
}

// Tiles of 64×64 elements. A thread of 256 turns 4×4 of them in registers, so that LDS and memory see four at a time.
template <u32 Turned, typename Op, typename T, typename Shape, typename PitchIn, typename PitchOut>
RK_DEVICE void turn(const T *in, T *out) {
    constexpr u32 edge = 64, quads = 16, other = Turned == 1 ? 2 : 1, last = Turned == 3 ? 2 : 3;
    using Quad = Pack<T, 4>;
    using In = Fixed<Shape, PitchIn>;
    using Out = Fixed<Shape, PitchOut>;
    constexpr u64 rows = Shape::dims[Turned], columns = Shape::dims[0];
    constexpr u64 row_tiles = (rows + edge - 1) / edge, column_tiles = (columns + edge - 1) / edge;
    constexpr u64 tiles = row_tiles * column_tiles * Shape::dims[other] * Shape::dims[last];
    constexpr bool in_quads = rows % 4 == 0 && PitchIn::strides[0] % 4 == 0 && PitchIn::strides[other] % 4 == 0 &&
                              PitchIn::strides[last] % 4 == 0;
    constexpr bool out_quads = columns % 4 == 0 && Out::has_steps_of(4);
    static_assert(!In::has_packs(4), "what is contiguous is not turned");
    const bool loads_quads = in_quads && is_aligned(in, sizeof(Quad));
    const bool stores_quads = out_quads && is_aligned(out, sizeof(Quad));
    __shared__ Quad tile[edge * quads];  // row r's quad of columns s at slot s ^ r / 4, which spreads them over the banks
    const u32 fast = thread_x() % quads, slow = thread_x() / quads;
#pragma unroll 1
    for (u64 t = block_x(); t < tiles; t += grid_x()) {
        const u64 row = t % row_tiles * edge, band = t / row_tiles;
        const u64 column = band % column_tiles * edge, slice = band / column_tiles;
        const u64 i = slice % Shape::dims[other], j = slice / Shape::dims[other];
        const T *source = in + i * PitchIn::strides[other] + j * PitchIn::strides[last];
        T *target = out + i * PitchOut::strides[other] + j * PitchOut::strides[last];
        Quad lines[4];
#pragma unroll
        for (u32 k = 0; k < 4; ++k) {
            const u64 c = column + 4 * slow + k, r = row + 4 * fast;
            const T *first = source + c * PitchIn::strides[0] + r;
            if (loads_quads) {
                lines[k] = c < columns && r < rows ? *reinterpret_cast<const Quad *>(first) : Quad{};
            } else {
#pragma unroll
                for (u32 w = 0; w < 4; ++w) {
                    lines[k].lane[w] = c < columns && r + w < rows ? first[w] : T{};
                }
            }
        }
        barrier();  // the tile before is still read
#pragma unroll
        for (u32 w = 0; w < 4; ++w) {
            Quad turned;
#pragma unroll
            for (u32 k = 0; k < 4; ++k) {
                turned.lane[k] = Op::element(lines[k].lane[w]);
            }
            tile[(4 * fast + w) * quads + (slow ^ fast)] = turned;
        }
        barrier();
#pragma unroll
        for (u32 k = 0; k < 4; ++k) {
            const u32 r = slow + quads * k;
            const u64 c = column + 4 * fast;
            const Quad moved = tile[r * quads + (fast ^ (r / 4))];
            T *first = target + (row + r) * PitchOut::strides[Turned] + c;
            if (row + r >= rows) {
                continue;
            }
            if (stores_quads) {
                if (c < columns) {
                    *reinterpret_cast<Quad *>(first) = moved;
                }
            } else {
#pragma unroll
                for (u32 w = 0; w < 4; ++w) {
                    if (c + w < columns) {
                        first[w] = moved.lane[w];
                    }
                }
            }
        }
    }
}

}  // namespace rk
