// Writes by index of many columns whose places fit LDS: a block holds some neighbouring columns of the target there. All
// its threads read indices and values ahead, whose lines the columns share; one thread of each column then takes them in
// order.
#pragma once

#include "index.hpp"
#include "device.hpp"

namespace rk {

template <typename T>
struct ScatterTile {
    static constexpr u32 threads = 256, most_columns = 32, bytes = 1u << 15;
    static constexpr u32 reads = sizeof(T) > 4 ? 2 : 4;  // of a thread at a time
    static constexpr u32 step = 4;                       // positions that a column takes at once
    static constexpr u32 moves = 8;                      // of a thread at a time, from the target and back
    static constexpr u32 slots = bytes / sizeof(T) + most_columns;  // the row behind the last takes what leads nowhere
    using Values = Pack<T, step>;
    using Places = Pack<u16, step>;
    static_assert(slots <= 1u << 16);

    // A column's positions lie together, and a gap before those of the next, which then begin in other banks.
    template <typename Element>
    static constexpr u32 gap = 16 / sizeof(Element) < step ? step : 16 / sizeof(Element);
    template <typename Element>
    static constexpr u32 staged = threads * reads + most_columns * gap<Element>;

    T held[slots];
    alignas(Values) T values[2][staged<T>];
    alignas(Places) u16 places[2][staged<u16>];
};

// held[places[i]] = join(held[places[i]], values[i]) in order; of those that meet in one place within a step, a later one
// takes its old value from the one before.
template <template <typename> typename Join, typename T>
RK_DEVICE void join_in_order(T *held, const typename ScatterTile<T>::Values *values,
                             const typename ScatterTile<T>::Places *places, u32 steps) {
    constexpr u32 step = ScatterTile<T>::step;
    auto next_values = values[0];
    auto next_places = places[0];
#pragma unroll 1
    for (u32 i = 0; i < steps; ++i) {
        auto value = next_values;
        const auto place = next_places;
        const u32 next = i + 1 < steps ? i + 1 : i;
        next_values = values[next];
        next_places = places[next];
        T old[step] = {};
        if constexpr (Join<T>::reads) {
#pragma unroll
            for (u32 w = 0; w < step; ++w) {
                old[w] = held[place.lane[w]];
            }
        }
#pragma unroll
        for (u32 w = 0; w < step; ++w) {
#pragma unroll
            for (u32 before = 0; before < w; ++before) {
                old[w] = place.lane[before] == place.lane[w] ? value.lane[before] : old[w];
            }
            value.lane[w] = Join<T>::join(old[w], value.lane[w]);
        }
#pragma unroll
        for (u32 w = 0; w < step; ++w) {
            held[place.lane[w]] = value.lane[w];
        }
    }
}

// out = base, then out[l, ids[l, j, r], r] = join(out[l, ids[l, j, r], r], inp[l, j, r]) for j = 0, 1, …, by blocks of
// ScatterTile's threads that take `columns` (l, r) at a time: a power of two whose places leave a row of a tile free.
template <template <typename> typename Join, typename Indices, typename T>
RK_DEVICE void scatter_tiles(u32 columns, const Indices &ids, const T *inp, const T *base, T *out, u64 left, u64 src_dim,
                             u64 dst_dim, u64 right) {
    using Tile = ScatterTile<T>;
    __shared__ Tile tile;
    constexpr u32 reads = Tile::reads;
    const u32 lines = Tile::threads / columns, positions = lines * reads, thread = thread_x();
    const bool apart = right < columns;  // then what lies side by side is one column's
    const u32 c = apart ? thread / lines : thread % columns, first = apart ? thread % lines : thread / columns;
    const u32 nowhere = static_cast<u32>(dst_dim) * columns + c;
    const u32 value_at = c * (positions + Tile::template gap<T>) + first;
    const u32 place_at = c * (positions + Tile::template gap<u16>) + first;
    const u32 wave = uniform(thread / wave_size), rank = thread % wave_size;
    const u64 total = left * right;
    const u64 step = static_cast<u64>(lines) * right;
#pragma unroll 1
    for (u64 tile_start = static_cast<u64>(block_x()) * columns; tile_start < total;
         tile_start += static_cast<u64>(grid_x()) * columns) {
        const bool is_column = tile_start + c < total;
        const u64 column = is_column ? tile_start + c : tile_start;
        const u64 l = divide(column, right, total <= 0xffffffffu), r = column - l * right;
        const u64 target = (l * dst_dim + first) * right + r;
        const u32 rows = is_column && first < dst_dim ? (static_cast<u32>(dst_dim) - first + lines - 1) / lines : 0;
        u64 element = (l * src_dim + first) * right + r;
        const u64 end = is_column ? src_dim : 0;
        typename Indices::Id id[reads];
        T value[reads];
        const auto read = [&](u64 from) {
#pragma unroll
            for (u32 i = 0; i < reads; ++i) {
                const bool inside = from + i * lines + first < end;
                id[i] = inside ? ids.read(element + i * step) : Indices::nowhere;
                value[i] = inside ? inp[element + i * step] : T{};
            }
        };
        read(0);
#pragma unroll 1
        for (u32 row = 0; row < rows; row += Tile::moves) {
            T moved[Tile::moves];
#pragma unroll
            for (u32 m = 0; m < Tile::moves; ++m) {
                moved[m] = base[target + (row + m < rows ? row + m : row) * step];
            }
            loads_begin_above();
#pragma unroll
            for (u32 m = 0; m < Tile::moves; ++m) {
                if (row + m < rows) {
                    tile.held[((row + m) * lines + first) * columns + c] = moved[m];
                }
            }
        }
        u32 buffer = 0, turn = (block_x() * 0x9e3779b9u) >> 16;
#pragma unroll 1
        for (u64 begin = 0; begin < src_dim; begin += positions) {
#pragma unroll
            for (u32 i = 0; i < reads; ++i) {
                u32 place = nowhere;
                if (begin + i * lines + first < end) {
                    const auto found = ids.checked(id[i], element + i * step, dst_dim);
                    place = Indices::leads(found, dst_dim) ? static_cast<u32>(found) * columns + c : nowhere;
                }
                tile.places[buffer][place_at + i * lines] = static_cast<u16>(place);
                tile.values[buffer][value_at + i * lines] = value[i];
            }
            element += reads * step;
            read(begin + positions);
            barrier();
            // Waves take turns, since multiprocessors give a wave's instructions to one of several schedulers for good.
            if (wave == turn % (Tile::threads / wave_size) && rank < columns) {
                const u64 rest = src_dim - begin;
                const u32 count = rest < positions ? static_cast<u32>(rest) : positions;
                const T *values = tile.values[buffer] + rank * (positions + Tile::template gap<T>);
                const u16 *places = tile.places[buffer] + rank * (positions + Tile::template gap<u16>);
                join_in_order<Join>(tile.held, reinterpret_cast<const typename Tile::Values *>(values),
                                    reinterpret_cast<const typename Tile::Places *>(places),
                                    (count + Tile::step - 1) / Tile::step);
            }
            buffer ^= 1;
            ++turn;
        }
        barrier();
#pragma unroll 8
        for (u32 row = 0; row < rows; ++row) {
            out[target + row * step] = tile.held[(row * lines + first) * columns + c];
        }
    }
}

}  // namespace rk
