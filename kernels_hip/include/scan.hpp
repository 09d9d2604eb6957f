// Running totals along the middle axis of (left, n, right), contiguous. An axis is scanned in parts of `part` elements;
// part p begins with what the parts before it total: carry[(l * right + r) * parts + p - 1], itself a scan of the
// states that split_sum or split_prod leave. A null carry means that there is one part.
#pragma once

#include "rows.hpp"

namespace rk {

template <typename State>
struct Prefix {
    State before;  // the join of all lower ranks
    State total;   // of the whole team
};

// All threads of the block call it together.
template <typename Op>
RK_DEVICE Prefix<typename Op::State> team_prefix(const Team &team, typename Op::State state) {
    using State = typename Op::State;
    const u32 in_wave = team.width < wave_size ? team.width : wave_size;
    const u32 place = team.rank % in_wave;
    State upto = state;
#pragma unroll 1
    for (u32 distance = 1; distance < in_wave; distance <<= 1) {
        const State lower = shuffle(upto, place >= distance ? lane() - distance : lane());
        upto = place >= distance ? Op::join(lower, upto) : upto;
    }
    const State neighbour = shuffle(upto, place > 0 ? lane() - 1 : lane());
    State before = place > 0 ? neighbour : Op::identity();
    State total = shuffle(upto, lane() - place + in_wave - 1);
    if (team.width > wave_size) {
        __shared__ State slots[max_block_waves];
        const u32 waves = team.width / wave_size;
        const u32 first = team.index * waves;
        const u32 own = team.rank / wave_size;
        barrier();  // the slots may still be read from the tile before
        if (place == 0) {
            slots[first + own] = total;
        }
        barrier();
        State lower = Op::identity();
        total = Op::identity();
#pragma unroll 1
        for (u32 wave = 0; wave < waves; ++wave) {
            lower = wave == own ? total : lower;
            total = Op::join(total, slots[first + wave]);
        }
        before = Op::join(lower, before);
    }
    return {before, total};
}

// right == 1: a team scans a part in tiles of four elements a thread.
template <typename Op, typename T>
RK_DEVICE void scan_rows(u64 left, u64 n, u64 part, const typename Op::State *carry, const T *src, T *dst) {
    using State = typename Op::State;
    constexpr u32 items = 4;
    const Team team = team_along_x();
    const u64 parts = divide(n + part - 1, part);
    const u64 step = static_cast<u64>(grid_x()) * team.count;
#pragma unroll 1
    for (u64 first = static_cast<u64>(block_x()) * team.count; first < left * parts; first += step) {
        const u64 item = first + team.index;
        const bool active = item < left * parts;
        const u64 row = active ? divide(item, parts) : 0;
        const u64 number = active ? item - row * parts : 0;
        const u64 end = !active ? 0 : (number + 1) * part < n ? (number + 1) * part : n;
        State running = number > 0 ? carry[item - 1] : Op::identity();
#pragma unroll 1
        for (u64 tile = number * part; tile < number * part + part; tile += team.width * items) {
            const u64 begin = tile + team.rank * items;
            State upto[items];
#pragma unroll
            for (u32 j = 0; j < items; ++j) {
                const State own = begin + j < end ? Op::element(src[row * n + begin + j], 0) : Op::identity();
                upto[j] = j == 0 ? own : Op::join(upto[j - 1], own);
            }
            const auto prefix = team_prefix<Op>(team, upto[items - 1]);
            const State before = Op::join(running, prefix.before);
#pragma unroll
            for (u32 j = 0; j < items; ++j) {
                if (begin + j < end) {
                    dst[row * n + begin + j] = Op::result(Op::join(before, upto[j]), 0);
                }
            }
            running = Op::join(running, prefix.total);
        }
    }
}

// right > 1: a thread scans a column, whatever the shape of its block; neighbours read neighbouring columns.
template <typename Op, typename T>
RK_DEVICE void scan_columns(u64 left, u64 n, u64 right, u64 part, const typename Op::State *carry, const T *src,
                            T *dst) {
    const u64 parts = divide(n + part - 1, part);
    const u64 threads = static_cast<u64>(grid_x()) * block_threads();
#pragma unroll 1
    for (u64 item = static_cast<u64>(block_x()) * block_threads() + block_thread(); item < left * parts * right;
         item += threads) {
        const u64 outer = divide(item, right);
        const u64 column = item - outer * right;
        const u64 l = divide(outer, parts);
        const u64 number = outer - l * parts;
        const u64 begin = number * part;
        const u64 end = begin + part < n ? begin + part : n;
        auto running = number > 0 ? carry[(l * right + column) * parts + number - 1] : Op::identity();
        const u64 first = (l * n + begin) * right + column;
        const T *from = src + first;
        T *to = dst + first;
        T next = begin < end ? *from : T{};
#pragma unroll 1
        for (u64 i = begin; i < end; ++i) {
            const T current = next;
            if (i + 1 < end) {  // in flight while this one is added
                from += right;
                next = *from;
            }
            running = Op::join(running, Op::element(current, 0));
            *to = Op::result(running, 0);
            to += right;
        }
    }
}

template <typename Op, typename T>
RK_DEVICE void scan(u64 left, u64 n, u64 right, u64 part, const typename Op::State *carry, const T *src, T *dst) {
    if (right == 1) {
        scan_rows<Op>(left, n, part, carry, src, dst);
    } else {
        scan_columns<Op>(left, n, right, part, carry, src, dst);
    }
}

}  // namespace rk
