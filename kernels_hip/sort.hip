// sort: stable order of rows, as positions (argsort), values, or both; search and comparison in sorted data; the largest
// of a softmax.
// Rows that fit a block's registers are sorted by one bitonic network over (key, position), which is stable because no
// two entries are equal. Longer rows take radix passes of 8 bits: count, scan, scatter.
#include "include/bitonic.hpp"
#include "include/index.hpp"
#include "include/order.hpp"
#include "include/running_sum.hpp"
#include "include/topk.hpp"

namespace rk {

// Candle's argsort: one block per row, the positions in dynamic LDS of ncols_pad words, a power of two ≥ ncols.
template <bool Descending, typename T>
RK_DEVICE void sort_positions(const T *x, u32 *dst, u32 ncols, u32 ncols_pad) {
    extern __shared__ u32 positions[];
    const T *row = x + static_cast<u64>(block_x()) * ncols;
    order_positions<Descending>(row, positions, ncols, ncols_pad);
    for (u32 i = thread_x(); i < ncols; i += block_size_x()) {
        dst[static_cast<u64>(block_x()) * ncols + i] = positions[i];
    }
}

// A key above its position in the row, as one number where that fits.
template <u32 KeyBytes>
struct Entry {
    using Key = typename Unsigned<KeyBytes>::type;
    using Packed = choose<KeyBytes <= 2, u32, u64>;
    static constexpr u32 position_bits = KeyBytes <= 2 ? 16 : 32;
    Packed packed;

    RK_DEVICE Entry() = default;
    RK_DEVICE Entry(Key key, u32 position) : packed((static_cast<Packed>(key) << position_bits) | position) {}
    RK_DEVICE u32 position() const { return static_cast<u32>(packed & ((Packed(1) << position_bits) - 1)); }
    RK_DEVICE bool operator>(const Entry &other) const { return packed > other.packed; }
};

template <>
struct Entry<8> {
    u64 key;
    u32 at;

    RK_DEVICE Entry() = default;
    RK_DEVICE Entry(u64 key_, u32 position) : key(key_), at(position) {}
    RK_DEVICE u32 position() const { return at; }
    RK_DEVICE bool operator>(const Entry &other) const { return key != other.key ? key > other.key : at > other.at; }
};

template <u32 KeyBytes>
RK_DEVICE Entry<KeyBytes> shuffle_xor(const Entry<KeyBytes> &entry, u32 mask) {
    Entry<KeyBytes> other;
    if constexpr (KeyBytes == 8) {
        other.key = shuffle_xor(entry.key, mask);
        other.at = shuffle_xor(entry.at, mask);
    } else {
        other.packed = shuffle_xor(entry.packed, mask);
    }
    return other;
}

constexpr u32 entries_per_thread = 8;
constexpr u32 sort_block_size = 512;  // the largest block: rows of up to 4096

// Keeps the smaller or the larger of two entries.
template <typename E>
RK_DEVICE E keep(const E &mine, const E &other, bool smaller) {
    return (mine > other) == smaller ? other : mine;
}

// One step of the network inside a thread: entries at `Distance` in order where the span's half is ascending.
template <u32 Distance, typename E>
RK_DEVICE void order_within(E *entry, u32 first, u32 span) {
#pragma unroll
    for (u32 e = 0; e < entries_per_thread; ++e) {
        if ((e & Distance) == 0) {
            const bool ascending = ((first + e) & span) == 0;
            const E low = entry[e];
            const E high = entry[e + Distance];
            entry[e] = keep(low, high, ascending);
            entry[e + Distance] = keep(low, high, !ascending);
        }
    }
}

// A row is sorted by `lanes` threads, a power of two with 8·lanes ≥ ncols; the block holds block size / lanes rows.
// The first `kept` columns of the result are written; indices and values may each be null.
template <typename T>
RK_DEVICE void sort_rows(const T *x, T *values, i64 *indices, u64 rows, u32 ncols, u32 kept, u32 lanes,
                         bool descending) {
    using E = Entry<sizeof(T)>;
    constexpr u32 half = entries_per_thread / 2;
    __shared__ E exchange[half * sort_block_size];
    const u32 member = thread_x() & (lanes - 1);
    const u32 first = member * entries_per_thread;
    const u64 rows_per_block = block_size_x() / lanes;
    for (u64 base = block_x() * rows_per_block; base < rows; base += grid_x() * rows_per_block) {
        const u64 row = base + thread_x() / lanes;
        const T *inp = x + row * ncols;
        E entry[entries_per_thread];
#pragma unroll
        for (u32 e = 0; e < entries_per_thread; ++e) {
            const u32 i = first + e;
            const bool inside = row < rows && i < ncols;
            entry[e] = E(inside ? order_key(inp[i], descending) : static_cast<bits_of<T>>(~bits_of<T>(0)), i);
        }
#pragma unroll 1
        for (u32 span = 2; span <= lanes * entries_per_thread; span *= 2) {
            const bool ascending = (first & span) == 0;
#pragma unroll 1
            for (u32 distance = span / 2; distance >= entries_per_thread; distance /= 2) {
                const u32 apart = distance / entries_per_thread;
                const bool smaller = ((member & apart) == 0) == ascending;
                if (apart < wave_size) {
#pragma unroll
                    for (E &mine : entry) {
                        mine = keep(mine, shuffle_xor(mine, apart), smaller);
                    }
                    continue;
                }
                // Partners in other waves meet in LDS, half of the entries at a time.
#pragma unroll
                for (u32 part = 0; part < entries_per_thread; part += half) {
                    barrier();
#pragma unroll
                    for (u32 e = 0; e < half; ++e) {
                        exchange[e * sort_block_size + thread_x()] = entry[part + e];
                    }
                    barrier();
#pragma unroll
                    for (u32 e = 0; e < half; ++e) {
                        const E other = exchange[e * sort_block_size + (thread_x() ^ apart)];
                        entry[part + e] = keep(entry[part + e], other, smaller);
                    }
                }
            }
            if (span > 4) {
                order_within<4>(entry, first, span);
            }
            if (span > 2) {
                order_within<2>(entry, first, span);
            }
            order_within<1>(entry, first, span);
        }
#pragma unroll
        for (u32 e = 0; e < entries_per_thread; ++e) {
            const u32 i = first + e;
            if (row < rows && i < kept) {
                const u32 position = entry[e].position();
                if (indices != nullptr) {
                    indices[row * kept + i] = position;
                }
                if (values != nullptr) {
                    values[row * kept + i] = inp[position];
                }
            }
        }
    }
}

template <typename T>
RK_DEVICE void sort_keys(u64 numel, const T *x, bits_of<T> *keys, bool descending) {
    for (u64 i = global_thread(); i < numel; i += global_threads()) {
        keys[i] = order_key(x[i], descending);
    }
}

constexpr u32 digits = 256;
constexpr u32 radix_block_size = 256;
constexpr u32 radix_waves = radix_block_size / wave_size;
constexpr u32 keys_in_flight = 4;
template <typename Key>
constexpr u32 keys_per_thread = sizeof(Key) == 8 ? 8 : 16;
template <typename Key>
constexpr u32 radix_tile = radix_block_size * keys_per_thread<Key>;  // a launch plan knows it too

template <typename Key>
RK_DEVICE u32 digit_of(Key key, u32 shift) {
    return static_cast<u32>(key >> shift) & (digits - 1);
}

// A tile of a row: block b works on tile b % tiles of row b / tiles.
template <typename Key>
struct Tile {
    u64 row;
    u64 number;
    u64 begin;  // in the row
    u32 size;

    RK_DEVICE Tile(u64 block, u64 ncols, u64 tiles) : row(divide(block, tiles)), number(block - row * tiles) {
        begin = number * radix_tile<Key>;
        const u64 left = ncols - begin;
        size = left < radix_tile<Key> ? static_cast<u32>(left) : radix_tile<Key>;
    }
};

// counts[row, digit, tile] = how often the digit occurs in the tile
template <typename Key>
RK_DEVICE void radix_count(const Key *keys, u32 *counts, u64 rows, u64 ncols, u64 tiles, u32 shift) {
    __shared__ u32 histogram[digits];
    for (u64 block = block_x(); block < rows * tiles; block += grid_x()) {
        const Tile<Key> tile(block, ncols, tiles);
        const Key *inp = keys + tile.row * ncols + tile.begin;
        for (u32 d = thread_x(); d < digits; d += block_size_x()) {
            histogram[d] = 0;
        }
        barrier();
        for (u32 i = thread_x(); i < tile.size; i += block_size_x()) {
            atomic_add(&histogram[digit_of(inp[i], shift)], 1u);
        }
        barrier();
        for (u32 d = thread_x(); d < digits; d += block_size_x()) {
            counts[(tile.row * digits + d) * tiles + tile.number] = histogram[d];
        }
        barrier();
    }
}

// Each line of n counts becomes the sums of those before it in the line, totals[line] the sum of all.
RK_DEVICE void scan_lines(u64 lines, u64 n, u32 *counts, u32 *totals) {
    __shared__ u32 scratch[max_waves];
    for (u64 line = block_x(); line < lines; line += grid_x()) {
        u32 *count = counts + line * n;
        u32 before = 0;
        for (u64 base = 0; base < n; base += block_size_x()) {
            const u64 i = base + thread_x();
            const Running<u32> sum = block_running_sum(i < n ? count[i] : 0u, scratch);
            if (i < n) {
                count[i] = before + sum.before;
            }
            before += sum.total;
        }
        if (thread_x() == 0) {
            totals[line] = before;
        }
    }
}

// LDS of one block of a scatter pass.
template <typename Key>
struct RadixLds {
    u32 scratch[radix_waves];
    u32 start[digits];   // of the digit's run in the sorted tile
    u32 target[digits];  // of the run in the row, less start
    u16 before[radix_waves][digits];  // keys with the digit seen by the wave, then by all waves below it
    u16 rank[radix_tile<Key>];        // of a key among its wave's keys with its digit
    Key key[radix_tile<Key>];         // the sorted tile
    u32 position[radix_tile<Key>];
};

using LaneMask = choose<wave_size == 64, u64, u32>;

// Lanes of the wave whose digit is this lane's.
RK_DEVICE LaneMask lanes_with_digit(u32 digit) {
    LaneMask same = ~LaneMask(0);
#pragma unroll
    for (u32 bit = 0; bit < 8; ++bit) {
        const u32 mine = digit >> bit & 1;
        const LaneMask set = static_cast<LaneMask>(ballot(mine != 0));
        same &= ~(set ^ (LaneMask(0) - mine));
    }
    return same;
}

// Moves every key and its position to its place by this digit, equal digits in their order. A null positions_in means
// that each key still stands at its position; a null keys_out that this is the last pass.
template <typename Key>
RK_DEVICE void radix_scatter(const Key *keys_in, const u32 *positions_in, Key *keys_out, u32 *positions_out,
                             const u32 *counts, const u32 *totals, u64 rows, u64 ncols, u64 tiles, u32 shift) {
    __shared__ RadixLds<Key> lds;
    const u32 self = thread_x();
    const u32 wave = self / wave_size;
    for (u64 block = block_x(); block < rows * tiles; block += grid_x()) {
        const Tile<Key> tile(block, ncols, tiles);
        const u64 base = tile.row * ncols;
#pragma unroll
        for (u32 w = 0; w < radix_waves; ++w) {
            lds.before[w][self] = 0;
        }
        barrier();
        // Every wave ranks a contiguous piece, so that ranks follow the order of the row. What is missing from the last
        // tile counts as the largest digit: it comes after all keys of that digit and changes no rank.
        const u32 piece = wave * wave_size * keys_per_thread<Key> + lane();
#pragma unroll 1
        for (u32 k = 0; k < keys_per_thread<Key>; k += keys_in_flight) {
            Key key[keys_in_flight];
#pragma unroll
            for (u32 f = 0; f < keys_in_flight; ++f) {
                const u32 i = piece + (k + f) * wave_size;
                key[f] = i < tile.size ? keys_in[base + tile.begin + i] : static_cast<Key>(~Key(0));
            }
#pragma unroll
            for (u32 f = 0; f < keys_in_flight; ++f) {
                const u32 i = piece + (k + f) * wave_size;
                const u32 digit = digit_of(key[f], shift);
                const LaneMask same = lanes_with_digit(digit);
                const u32 below = count_bits(same & lanes_below());
                const u32 before = lds.before[wave][digit];
                wave_sync();
                if (below == 0) {
                    lds.before[wave][digit] = static_cast<u16>(before + count_bits(same));
                }
                wave_sync();
                lds.rank[i] = static_cast<u16>(before + below);
            }
        }
        barrier();
        // From counts per wave to first ranks per wave, and to the digit's start in the tile.
        u32 count = 0;
#pragma unroll
        for (u32 w = 0; w < radix_waves; ++w) {
            const u32 mine = lds.before[w][self];
            lds.before[w][self] = static_cast<u16>(count);
            count += mine;
        }
        const u32 start = block_running_sum(count, lds.scratch, radix_waves).before;
        const u64 line = tile.row * digits + self;
        const u32 above = block_running_sum(totals[line], lds.scratch, radix_waves).before;
        lds.start[self] = start;
        lds.target[self] = above + counts[line * tiles + tile.number] - start;
        barrier();
#pragma unroll 4
        for (u32 k = 0; k < keys_per_thread<Key>; ++k) {
            const u32 i = piece + k * wave_size;
            if (i < tile.size) {
                const u64 from = tile.begin + i;
                const Key key = keys_in[base + from];
                const u32 digit = digit_of(key, shift);
                const u32 slot = lds.start[digit] + lds.before[wave][digit] + lds.rank[i];
                lds.key[slot] = key;
                lds.position[slot] =
                    positions_in != nullptr ? positions_in[base + from] : static_cast<u32>(from);
            }
        }
        barrier();
        for (u32 slot = self; slot < tile.size; slot += radix_block_size) {
            const Key moved = lds.key[slot];
            const u64 to = base + static_cast<u32>(lds.target[digit_of(moved, shift)] + slot);
            if (keys_out != nullptr) {
                keys_out[to] = moved;
            }
            positions_out[to] = lds.position[slot];
        }
        barrier();
    }
}

// The first `kept` columns of sorted rows, from the positions in order: values, positions, or both.
template <typename Bits>
RK_DEVICE void take_sorted(u64 numel, const u32 *positions, const Bits *x, Bits *values, i64 *indices, u64 ncols,
                           u64 kept) {
    const bool small = numel <= 0xffffffffu;
    for (u64 i = global_thread(); i < numel; i += global_threads()) {
        const u64 row = divide(i, kept, small);
        const u32 position = positions[row * ncols + (i - row * kept)];
        if (values != nullptr) {
            values[i] = x[row * ncols + position];
        }
        if (indices != nullptr) {
            indices[i] = position;
        }
    }
}

// out[i] = how many of the n sorted values are below (right: not above) values[i]
template <typename T>
RK_DEVICE void search_sorted(u64 n, u64 numel, const T *sorted, const T *values, i64 *out, bool right) {
    for (u64 i = global_thread(); i < numel; i += global_threads()) {
        const auto key = order_key(values[i]);
        u64 low = 0;
        u64 high = n;
        while (low < high) {
            const u64 middle = low + (high - low) / 2;
            const auto found = order_key(sorted[middle]);
            if (found < key || (right && found == key)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        out[i] = static_cast<i64>(low);
    }
}

// flags[i] = whether x[i] differs from its predecessor; the first always does, NaN from everything
template <typename T>
RK_DEVICE void mark_changes(u64 numel, const T *x, bool *flags) {
    for (u64 i = global_thread(); i < numel; i += global_threads()) {
        flags[i] = i == 0 || !(widen(x[i]) == widen(x[i - 1]));
    }
}

#define ARGSORT_ASCENDING(T)                                                                \
    RK_KERNEL asort_asc_##T(const T *x, u32 *dst, i32 ncols, i32 ncols_pad) {               \
        sort_positions<false>(x, dst, static_cast<u32>(ncols), static_cast<u32>(ncols_pad)); \
    }
#define ARGSORT_DESCENDING(T)                                                               \
    RK_KERNEL asort_desc_##T(const T *x, u32 *dst, i32 ncols, i32 ncols_pad) {              \
        sort_positions<true>(x, dst, static_cast<u32>(ncols), static_cast<u32>(ncols_pad)); \
    }
#define SORT_ROWS(T)                                                                                             \
    RK_BLOCK_KERNEL(sort_block_size)                                                                             \
    sort_rows_##T(const T *x, T *values, i64 *indices, u64 rows, u32 ncols, u32 kept, u32 lanes,                 \
                  bool descending) {                                                                             \
        sort_rows<T>(x, values, indices, rows, ncols, kept, lanes, descending);                                  \
    }
#define SORT_KEYS(T)                                                                                             \
    RK_KERNEL sort_keys_##T(u64 numel, const T *x, bits_of<T> *keys, bool descending) {                          \
        sort_keys<T>(numel, x, keys, descending);                                                                \
    }
#define TAKE_SORTED(T, Bits)                                                                                     \
    RK_KERNEL sort_take_##T(u64 numel, const u32 *positions, const Bits *x, Bits *values, i64 *indices,          \
                            u64 ncols, u64 kept) {                                                               \
        take_sorted<Bits>(numel, positions, x, values, indices, ncols, kept);                                    \
    }
#define SEARCH_SORTED(T)                                                                                         \
    RK_KERNEL searchsorted_##T(u64 n, u64 numel, const T *sorted, const T *values, i64 *out, bool right) {       \
        search_sorted<T>(n, numel, sorted, values, out, right);                                                  \
    }
#define MARK_CHANGES(T) \
    RK_KERNEL changes_##T(u64 numel, const T *x, bool *flags) { mark_changes<T>(numel, x, flags); }
#define RADIX_COUNT(Key)                                                                                         \
    RK_KERNEL radix_count_##Key(const Key *keys, u32 *counts, u64 rows, u64 ncols, u64 tiles, u32 shift) {       \
        radix_count<Key>(keys, counts, rows, ncols, tiles, shift);                                               \
    }
#define RADIX_SCATTER(Key)                                                                                       \
    RK_BLOCK_KERNEL(radix_block_size)                                                                            \
    radix_scatter_##Key(const Key *keys_in, const u32 *positions_in, Key *keys_out, u32 *positions_out,          \
                        const u32 *counts, const u32 *totals, u64 rows, u64 ncols, u64 tiles, u32 shift) {       \
        radix_scatter<Key>(keys_in, positions_in, keys_out, positions_out, counts, totals, rows, ncols, tiles,   \
                           shift);                                                                               \
    }
#define TOPK_SOFTMAX(T)                                                                                          \
    RK_BLOCK_KERNEL(256) topk_softmax_##T(const T *gating, f32 *weights, i32 *columns, u64 rows, u32 experts,    \
                                          u32 k, bool renormalize) {                                             \
        topk_softmax(gating, weights, columns, rows, experts, k, renormalize);                                   \
    }
#define SCAN_LINES(name)                                                                                         \
    RK_KERNEL name(u64 lines, u64 n, u32 *counts, u32 *totals) { scan_lines(lines, n, counts, totals); }

#include "instances/sort.inc"

}  // namespace rk
