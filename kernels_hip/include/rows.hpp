// Rows to reduce: a strided tensor whose last axes are reduced, so that row r is elements r*cols … r*cols+cols-1 in
// the order of `info`. A row of one stride is read directly, of stride 1 in 16-byte packs from wherever it starts. In
// which order its elements join depends on their numbers and the team alone: equal rows give equal bits.
#pragma once

#include "device.hpp"
#include "index.hpp"
#include "loads.hpp"
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
    static constexpr u32 width = vector_bytes / sizeof(T);
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
    RK_DEVICE u64 count() const { return cols == 0 ? 0 : divide(numel, cols, numel <= 0xffffffffu); }
    // Rows or parts of them that begin and end on 16 bytes, elements side by side, and are counted in 32 bits.
    RK_DEVICE bool are_whole_packs(u64 longest) const {
        return contiguous && cols % width == 0 && is_aligned(data, vector_bytes) && longest <= 0xffffffffu;
    }
    RK_DEVICE u64 stride() const { return contiguous ? 1 : info[2 * num_dims - 1]; }
    RK_DEVICE const T *at(u64 row, u64 col) const {
        const u64 linear = row * cols + col;
        return data + (contiguous ? linear : strided_offset(linear, numel, num_dims, info, info + num_dims));
    }
};

// 16 bytes of adjacent elements from number n * width on: where the elements begin on 16 bytes, and from wherever.
template <typename T>
struct AlignedPacks {
    const T *data;
    template <typename Count>
    RK_DEVICE FourWords operator()(Count n) const {
        return reinterpret_cast<const FourWords *>(data)[n];
    }
};
template <typename T>
struct AdjacentPacks {
    const T *data;
    template <typename Count>
    RK_DEVICE FourWords operator()(Count n) const {
        const u8 *bytes = reinterpret_cast<const u8 *>(data) + static_cast<u64>(n) * vector_bytes;
        return bit_cast<FourWords>(packed_words<vector_bytes / sizeof(u32), sizeof(T)>(bytes));
    }
};
// Elements that the function `at` finds: side by side in flight where that takes little, else one after the other.
template <typename T, bool AtOnce, typename At>
struct GatheredPacks {
    using Bits = typename Unsigned<vector_bytes>::type;
    At at;
    template <typename Count>
    RK_DEVICE FourWords operator()(Count n) const {
        constexpr u32 width = vector_bytes / sizeof(T);
        const u64 first = static_cast<u64>(n) * width;
        if constexpr (AtOnce) {
            Pack<T, width> pack;
#pragma unroll
            for (u32 j = 0; j < width; ++j) {
                pack.lane[j] = *at(first + j);
            }
            return bit_cast<FourWords>(pack);
        } else {
            Bits bits = 0;
#pragma unroll 1
            for (u32 j = 0; j < width; ++j) {
                const Bits element = bit_cast<bits_of<T>>(*at(first + j));
                bits = bits >> 8 * sizeof(T) | element << 8 * (vector_bytes - sizeof(T));
            }
            return bit_cast<FourWords>(bits);
        }
    }
};

// each(pack, n) for a thread's share of `packs` packs in ascending order, Batch in flight. Behind the last one it takes
// its first once more: loads under a condition would wait for each other.
template <u32 Batch, typename Count, typename Load, typename Each>
RK_DEVICE void for_each_pack(Load load, Count packs, const Team &team, Each each) {
#pragma unroll 1
    for (Count p = team.rank; p < packs; p += Batch * team.width) {
        FourWords loaded[Batch];
#pragma unroll
        for (u32 j = 0; j < Batch; ++j) {
            const Count n = p + j * team.width;
            loaded[j] = load(n < packs ? n : p);
        }
        loads_begin_above();
#pragma unroll
        for (u32 j = 0; j < Batch; ++j) {
            each(loaded[j], p + j * team.width);
        }
    }
}

// The state of `packs` packs, of which the first is not joined once more where that would change it.
template <typename Op>
struct WholePacks {
    static constexpr u32 in_flight = Op::in_flight;

    template <typename T, u32 Batch, typename Count, typename Load>
    RK_DEVICE static typename Op::State state(Load load, u64 index, Count packs, const Team &team) {
        constexpr u32 width = vector_bytes / sizeof(T);
        typename Op::State state = Op::identity();
        for_each_pack<Batch>(load, packs, team, [&](const FourWords &loaded, Count n) {
            const auto pack = bit_cast<Pack<T, width>>(loaded);
            const auto joined = Op::join(state, pack_state<Op>(pack, index + static_cast<u64>(n) * width));
            state = Op::idempotent || Batch == 1 || n < packs ? joined : state;
        });
        return state;
    }
};

// A place is looked for at the end, in the first pack that has the best value: of those before only that counts.
template <typename V, bool Largest>
struct WholePacks<reduction::arg<V, Largest>> {
    using Op = reduction::arg<V, Largest>;
    using Extreme = reduction::extreme<V, Largest>;
    static constexpr u32 in_flight = 4;

    template <typename T, u32 Batch, typename Count, typename Load>
    RK_DEVICE static typename Op::State state(Load load, u64 index, Count packs, const Team &team) {
        constexpr u32 width = vector_bytes / sizeof(T);
        auto best = Op::identity().value;
        Count number = team.rank;
        FourWords held = {};
        for_each_pack<Batch>(load, packs, team, [&](const FourWords &loaded, Count n) {
            const auto x = pack_state<Extreme>(bit_cast<Pack<T, width>>(loaded), n);
            const bool better = is_better<Largest>(x, best);
            best = better ? x : best;
            number = better ? n : number;
            held = better ? loaded : held;
        });
        const auto pack = bit_cast<Pack<T, width>>(held);
        u32 place = 0;  // where all values are that of nothing, so that none was better
#pragma unroll
        for (u32 j = width; j-- > 0;) {
            place = is_better<Largest>(best, Extreme::element(pack.lane[j], j)) ? place : j;
        }
        return {best, number < packs ? index + static_cast<u64>(number) * width + place : Op::identity().index};
    }
};
template <typename T, bool Largest>
struct WholePacks<reduction::wide_arg<T, Largest>> : WholePacks<reduction::arg<T, Largest>> {};

// The state of `count` elements, the first being number `index` of its row: of whole packs, then of the elements behind
// them, which the team shares as well. So many loads are in flight before the first is used.
template <typename Op, typename T, u32 Batch, u32 Ahead, typename Load, typename At>
RK_DEVICE typename Op::State ordered_state(Load load, At at, u64 index, u64 count, const Team &team) {
    constexpr u32 width = vector_bytes / sizeof(T);
    const u64 packs = count / width;
    typename Op::State state = WholePacks<Op>::template state<T, Batch>(load, index, packs, team);
#pragma unroll 1
    for (u64 i = packs * width + team.rank; i < count; i += Ahead * team.width) {
        Pack<T, Ahead> loaded;
#pragma unroll
        for (u32 j = 0; j < Ahead; ++j) {
            const u64 k = i + j * team.width;
            loaded.lane[j] = *at(k < count ? k : i);
        }
        loads_begin_above();
#pragma unroll
        for (u32 j = 0; j < Ahead; ++j) {
            const u64 k = i + j * team.width;
            state = Ahead == 1 || k < count ? Op::join(state, Op::element(loaded.lane[j], index + k)) : state;
        }
    }
    return state;
}

// The same for adjacent elements.
template <typename Op, typename T>
RK_DEVICE typename Op::State packed_state(const T *data, u64 index, u64 count, const Team &team) {
    return ordered_state<Op, T, 1, 1>(AdjacentPacks<T>{data}, [=](u64 i) { return data + i; }, index, count, team);
}

// The same for elements that `at` finds.
template <typename Op, typename T, bool AtOnce, typename At>
RK_DEVICE typename Op::State gathered_state(At at, u64 index, u64 count, const Team &team) {
    constexpr u32 batch = AtOnce && Op::in_flight > 1 && sizeof(T) == 8 ? 2 : 1;
    return ordered_state<Op, T, batch, AtOnce ? 4 : 1>(GatheredPacks<T, AtOnce, At>{at}, at, index, count, team);
}

// This thread's share of elements begin … end-1 of a row in any layout.
template <typename Op, typename T>
RK_DEVICE typename Op::State partial_state(const Rows<T> &rows, u64 row, u64 begin, u64 end, const Team &team) {
    if (rows.even) {
        const T *data = rows.at(row, begin);
        const u64 stride = rows.stride();
        return stride == 1
                   ? packed_state<Op>(data, begin, end - begin, team)
                   : gathered_state<Op, T, true>([=](u64 i) { return data + i * stride; }, begin, end - begin, team);
    }
    return gathered_state<Op, T, false>([&](u64 i) { return rows.at(row, begin + i); }, begin, end - begin, team);
}

// done(item, state) for each item, from the states joined(team, item, is_item) of the teams. All threads of a block call
// that together, those of a team behind the last item too.
template <typename Joined, typename Done>
RK_DEVICE void for_each_item(Team team, u64 items, Joined joined, Done done) {
    const u64 step = static_cast<u64>(grid_x()) * team.count;
#pragma unroll 1
    for (u64 first = static_cast<u64>(block_x()) * team.count; first < items; first += step) {
        const u64 item = first + team.index;
        const auto state = joined(team, item, item < items);
        if (item < items && team.rank == 0) {
            done(item, state);
        }
    }
}

// The same from the states that share(team, item) gives the threads of a team.
template <typename Op, typename Share, typename Done>
RK_DEVICE void reduce_items(Team team, u64 items, Share share, Done done) {
    const auto joined = [&](Team &team, u64 item, bool is_item) {
        typename Op::State state = Op::identity();
        if (is_item) {
            state = share(team, item);
        }
        return team_join<Op>(team, state);
    };
    for_each_item(team, items, joined, done);
}

template <typename Op, typename = void>
constexpr bool has_small_share = false;
template <typename Op>
constexpr bool has_small_share<Op, decltype(static_cast<void>(typename Op::SmallShare{}))> = true;

// The same where share(op, team, item) goes through elements by any operation. Waves whose sums overflow go through
// theirs once more, scaled down.
template <typename Op, typename Share, typename Done>
RK_DEVICE void reduce_shares(Team team, u64 items, Share share, Done done) {
    if constexpr (has_small_share<Op>) {
        const auto joined = [&](Team &team, u64 item, bool is_item) {
            using Plain = typename Op::Share;
            const u32 lanes = lanes_of(team);
            const auto sum = [&](auto op) {
                auto own = Plain::identity();
                if (is_item) {
                    own = share(op, team, item);
                }
                return lanes_join<Plain>(own, lanes);
            };
            const auto plain = sum(Plain{});
            typename Op::State state = {plain, plain * Op::State::scale};
            if (ballot(!state.is_plain()) != 0) {
                state.small = sum(typename Op::SmallShare{});
            }
            return team.width > wave_size
                       ? lanes_join<Op>(exchange_waves(team, state, Op::identity()), max_block_waves)
                       : state;
        };
        for_each_item(team, items, joined, done);
    } else {
        reduce_items<Op>(team, items, [&](const Team &team, u64 item) { return share(Op{}, team, item); }, done);
    }
}

// done(row, state) for each row. With no elements there is one row per block, as Candle launches it. Rows of whole
// packs have a loop of their own, which has the registers for several loads in flight.
template <typename Op, typename T, typename Done>
RK_DEVICE void reduce_rows(const Rows<T> &rows, Done done) {
    const u64 count = rows.cols == 0 ? grid_x() : rows.count();
    if (rows.are_whole_packs(rows.cols)) {
        const u32 packs = static_cast<u32>(rows.cols / Rows<T>::width);
        reduce_shares<Op>(
            team_along_x(), count,
            [&](auto op, const Team &team, u64 row) {
                const AlignedPacks<T> load = {rows.data + row * rows.cols};
                using Packs = WholePacks<decltype(op)>;
                return Packs::template state<T, Packs::in_flight>(load, 0, packs, team);
            },
            done);
    } else {
        reduce_shares<Op>(
            team_along_x(), count,
            [&](auto op, const Team &team, u64 row) {
                return partial_state<decltype(op)>(rows, row, 0, rows.cols, team);
            },
            done);
    }
}

// The same with what a row's state stands for.
template <typename Op, typename T>
RK_DEVICE void reduce_rows(const Rows<T> &rows, typename Op::Out *dst) {
    reduce_rows<Op>(rows, [&](u64 row, const typename Op::State &state) { dst[row] = Op::result(state, rows.cols); });
}

// Each row in parts of `part` elements: parts[row * parts_per_row + p], a state each. The last part may be shorter.
// Teams side by side take parts of one row where its elements are adjacent. Where they are not, rows are: then teams side
// by side take the same part of neighbouring rows.
template <typename Op, typename T>
RK_DEVICE void reduce_parts(const Rows<T> &rows, u64 part, typename Op::State *parts) {
    using State = typename Op::State;
    const bool small = rows.numel <= 0xffffffffu && part <= 0xffffffffu;  // then there are not more parts either
    const u64 per_row = rows.cols == 0 ? 0 : divide(rows.cols - 1, part, small) + 1;
    const u64 lines = rows.count();
    const u64 count = lines * per_row;
    struct Part {
        u64 row;
        u64 number;
        u64 begin;
        u64 end;
    };
    const auto part_of = [&](u64 item) {
        const u64 slow = divide(item, rows.contiguous ? per_row : lines, small);
        const u64 fast = item - slow * (rows.contiguous ? per_row : lines);
        const u64 row = rows.contiguous ? slow : fast;
        const u64 number = rows.contiguous ? fast : slow;
        const u64 begin = number * part;
        return Part{row, number, begin, begin + part < rows.cols ? begin + part : rows.cols};
    };
    const auto done = [&](u64 item, const State &state) {
        const Part at = part_of(item);
        parts[at.row * per_row + at.number] = state;
    };
    if (rows.are_whole_packs(part < rows.cols ? part : rows.cols) && part % Rows<T>::width == 0) {
        reduce_shares<Op>(
            team_along_x(), count,
            [&](auto op, const Team &team, u64 item) {
                const Part at = part_of(item);
                const AlignedPacks<T> load = {rows.data + at.row * rows.cols + at.begin};
                const u32 packs = static_cast<u32>(at.end - at.begin) / Rows<T>::width;
                using Packs = WholePacks<decltype(op)>;
                return Packs::template state<T, Packs::in_flight>(load, at.begin, packs, team);
            },
            done);
    } else {
        reduce_shares<Op>(
            team_along_x(), count,
            [&](auto op, const Team &team, u64 item) {
                const Part at = part_of(item);
                return partial_state<decltype(op)>(rows, at.row, at.begin, at.end, team);
            },
            done);
    }
}

// The second pass: done(row, state) from the row's `per_row` states.
template <typename Op, typename Done>
RK_DEVICE void merge_parts(u64 rows, u64 per_row, const typename Op::State *parts, Done done) {
    using State = typename Op::State;
    constexpr u32 batch = Op::in_flight;
    reduce_items<Op>(
        team_along_x(), rows,
        [&](const Team &team, u64 row) {
            const State *states = parts + row * per_row;
            State state = Op::identity();
#pragma unroll 1
            for (u64 p = team.rank; p < per_row; p += batch * team.width) {
                State loaded[batch];
#pragma unroll
                for (u32 j = 0; j < batch; ++j) {
                    const u64 n = p + j * team.width;
                    loaded[j] = states[n < per_row ? n : p];
                }
                loads_begin_above();
#pragma unroll
                for (u32 j = 0; j < batch; ++j) {
                    const State joined = Op::join(state, loaded[j]);
                    state = Op::idempotent || p + j * team.width < per_row ? joined : state;
                }
            }
            return state;
        },
        done);
}

// The same with what a row's state stands for; `cols` is the number of its elements.
template <typename Op>
RK_DEVICE void merge_parts(u64 rows, u64 cols, u64 per_row, const typename Op::State *parts, typename Op::Out *dst) {
    merge_parts<Op>(rows, per_row, parts,
                    [=](u64 row, const typename Op::State &state) { dst[row] = Op::result(state, cols); });
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
    const auto share = [&](const Team &team, u64 output) {
        auto state = Op::identity();
#pragma unroll 1
        for (u64 i = team.rank; i < per_output; i += team.width) {
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
        return state;
    };
    reduce_items<Op>(team_of_block(), per_output == 0 ? 0 : divide(numel, per_output), share,
                     [&](u64 output, const typename Op::State &state) {
                         out[output] = Op::result(Op::join(Op::element(out[output], 0), state), per_output);
                     });
}

}  // namespace rk
