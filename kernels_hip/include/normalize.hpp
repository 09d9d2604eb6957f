// Softmax and the norms of contiguous rows. A row that fits its team's registers is read once; any other row is read
// once per pass. All arithmetic is in f32, or f64 for f64, and rounds once; in place is allowed.
#pragma once

#include "rows.hpp"
#include "squares.hpp"

namespace rk {

// Element j of a pack, widened; of bf16 from its word, since PTX that takes words apart keeps more registers.
template <typename T, u32 Width>
RK_DEVICE arith<T> widened(const Pack<T, Width> &pack, u32 j) {
    if constexpr (is_same<T, bf16>) {
        const u32 word = bit_cast<Pack<u32, Width / 2>>(pack).lane[j / 2];
        return bit_cast<f32>(j % 2 ? word & 0xffff0000u : word << 16);
    } else {
        return widen(pack.lane[j]);
    }
}

// Pack n of adjacent elements.
template <bool Aligned, typename T>
RK_DEVICE Pack<T, vector_bytes / sizeof(T)> pack_at(const T *data, u32 n) {
    using Load = choose<Aligned, AlignedPacks<T>, AdjacentPacks<T>>;
    return bit_cast<Pack<T, vector_bytes / sizeof(T)>>(Load{data}(n));
}

// A thread's packs of its row, as they came: short floats are widened at every use, which costs less than the registers
// for wide ones. Pack p of the row belongs to thread p % width, so that a wave reads in one sweep. `Aligned` says that
// rows and weights begin on 16 bytes, for targets whose loads have to.
template <typename T, bool Aligned>
struct CachedRow {
    using Value = arith<T>;
    static constexpr u32 width = vector_bytes / sizeof(T);
    static constexpr u32 packs = 4;
    using Vector = Pack<T, width>;
    Vector value[packs];

    RK_DEVICE static bool holds(const Team &team, u64 cols) {
        return cols % width == 0 && cols <= static_cast<u64>(team.width) * packs * width;
    }
    RK_DEVICE static u32 number(const Team &team, u32 p) { return team.rank + p * team.width; }

    // In place of packs past the row's end, its first: a load under a condition would wait for the one before.
    RK_DEVICE void load(const Team &team, u32 cols, const T *src) {
#pragma unroll
        for (u32 p = 0; p < packs; ++p) {
            value[p] = pack_at<Aligned>(src, number(team, p) < cols / width ? number(team, p) : 0);
        }
        loads_begin_above();
    }
    // From here on short floats are widened anew.
    RK_DEVICE void narrow_again() {
        if constexpr (!is_same<T, Value>) {
            using Words = Pack<u32, vector_bytes / sizeof(u32)>;
#pragma unroll
            for (Vector &pack : value) {
                Words words = bit_cast<Words>(pack);
#pragma unroll
                for (u32 &word : words.lane) {
                    word = forgotten(word);
                }
                pack = bit_cast<Vector>(words);
            }
        }
    }
    RK_DEVICE Value largest() const {
        using ByWords = reduction::by_words<T, true>;
        Value largest = lowest<Value>();
#pragma unroll
        for (const Vector &pack : value) {
            if constexpr (has_pack<ByWords, T, width>) {
                largest = reduction::further<true>(largest, ByWords::pack(pack, 0));
            } else {
#pragma unroll
                for (const T &x : pack.lane) {
                    largest = reduction::further<true>(largest, static_cast<Value>(widen(x)));
                }
            }
        }
        return largest;
    }
    // The sum of the terms that this thread holds of the row. A term may put another number in the place of an element
    // that is not widened.
    template <typename Term>
    RK_DEVICE Value sum(const Team &team, u32 cols, Term term) {
        Value sum = 0;
#pragma unroll
        for (u32 p = 0; p < packs; ++p) {
            Value part = 0;
#pragma unroll
            for (u32 j = 0; j < width; ++j) {
                Value x = widened(value[p], j);
                part += term(x);
                if constexpr (is_same<T, Value>) {
                    value[p].lane[j] = x;
                }
            }
            sum += number(team, p) < cols / width ? part : 0;
        }
        return sum;
    }
    // How many of the row's elements this thread's lanes hold together.
    RK_DEVICE static u32 held_by_wave(const Team &team, u32 cols) {
        const u32 lanes = lanes_of(team);
        const u32 all = cols / width;
        u32 held = 0;
#pragma unroll
        for (u32 p = 0; p < packs; ++p) {
            const u32 first = team.rank / lanes * lanes + p * team.width;
            const u32 left = first < all ? all - first : 0;
            held += left < lanes ? left : lanes;
        }
        return held * width;
    }
    // dst = result(pack number, element of the pack, value)
    template <typename Begin, typename Result>
    RK_DEVICE void store(const Team &team, u32 cols, T *dst, Begin begin, Result result) const {
#pragma unroll
        for (u32 p = 0; p < packs; ++p) {
            const u32 n = number(team, p);
            if (n < cols / width) {
                const auto context = begin(n);
                Vector out;
#pragma unroll
                for (u32 j = 0; j < width; ++j) {
                    out.lane[j] = narrow<T>(result(context, j, widened(value[p], j)));
                }
                reinterpret_cast<Vector *>(dst)[n] = out;
            }
        }
    }
};

// Weights of a norm: none where the pointer is null.
template <typename T>
struct Weights {
    using Vector = Pack<T, vector_bytes / sizeof(T)>;
    const T *scale;
    const T *shift;

    struct Pair {
        Vector scale;
        Vector shift;
    };
    RK_DEVICE bool are_aligned() const { return is_aligned(scale, vector_bytes) && is_aligned(shift, vector_bytes); }
    template <bool Aligned>
    RK_DEVICE Pair pack(u32 n) const {
        Pair pair = {};
        if (scale) {
            pair.scale = pack_at<Aligned>(scale, n);
        }
        if (shift) {
            pair.shift = pack_at<Aligned>(shift, n);
        }
        return pair;
    }
    RK_DEVICE arith<T> apply(arith<T> x, const Pair &pair, u32 j) const {
        const arith<T> scaled = scale ? x * widened(pair.scale, j) : x;
        return shift ? scaled + widened(pair.shift, j) : scaled;
    }
    RK_DEVICE arith<T> apply_at(arith<T> x, u64 i) const {
        const arith<T> scaled = scale ? x * widen(scale[i]) : x;
        return shift ? scaled + widen(shift[i]) : scaled;
    }
};

// exp(x) for x <= 0. Results that round to f16 or bf16 can take the product with log2(e), whose error grows with x.
template <typename T>
RK_DEVICE arith<T> falling_exp(arith<T> x) {
    if constexpr (is_short_float<T>) {
        return exp2(x * 1.44269504f);
    } else {
        return exp(x);
    }
}

// exp(x) for x <= 0, times what cancels from its share of a sum of such: short floats' subnormal shares are normal here.
template <typename T>
RK_DEVICE arith<T> raised_exp(arith<T> x) {
    if constexpr (is_short_float<T>) {
        return exp2_or_zero(fma(x, 1.44269504f, 16.0f));
    } else {
        return falling_exp<T>(x);
    }
}

// The exponentials of a wave are summed relative to its own largest value; waves meet once, by both.
template <typename T, bool Log>
struct Softmax {
    using Value = arith<T>;
    using Max = reduction::max<Value>;
    using Sum = reduction::sum<Value>;
    static constexpr bool keeps_powers = !Log && is_same<T, Value>;

    RK_DEVICE bool are_aligned() const { return true; }
    template <bool Aligned>
    RK_DEVICE void cached(Team &team, u32 cols, const T *src, T *dst) const {
        CachedRow<T, Aligned> row;
        row.load(team, cols, src);
        Value largest = row.largest();
        row.narrow_again();
        largest = lanes_join<Max>(largest, lanes_of(team));
        const Value origin = largest == lowest<Value>() ? 0 : largest;  // two infinities have no difference
        Value sum = row.sum(team, cols, [=](Value &x) {
            const Value power = Log ? falling_exp<T>(x - origin) : raised_exp<T>(x - origin);
            if constexpr (keeps_powers) {
                x = power;
            }
            return power;
        });
        row.narrow_again();
        sum = lanes_join<Sum>(sum, lanes_of(team));
        Value top = largest;
        if (team.width > wave_size) {
            const auto other = exchange_waves(team, ExpSum<Value>{largest, sum}, ExpSum<Value>{lowest<Value>(), 0});
            top = lanes_join<Max>(other.largest, max_block_waves);
            sum = lanes_join<Sum>(other.sum * falling_exp<T>(other.largest - top), max_block_waves);
        }
        if constexpr (Log) {
            const Value log_sum = log(sum);
            row.store(team, cols, dst, [](u32) { return 0; }, [=](int, u32, Value x) { return (x - top) - log_sum; });
        } else if constexpr (keeps_powers) {
            const Value factor = falling_exp<T>(largest - top) / sum;
            row.store(team, cols, dst, [](u32) { return 0; }, [=](int, u32, Value power) { return power * factor; });
        } else {
            const Value factor = 1 / sum;
            row.store(team, cols, dst, [](u32) { return 0; },
                      [=](int, u32, Value x) { return raised_exp<T>(x - top) * factor; });
        }
    }
    RK_DEVICE void streamed(Team &team, u64 cols, const T *src, T *dst) const {
        using Op = reduction::logsumexp<T>;
        const auto state = team_join<Op>(team, packed_state<Op>(src, 0, cols, team));
        // Where the largest is infinite, that of its own exponential is not known: of the whole row there is only NaN.
        const Value sum = state.sum + (state.largest - state.largest);
        const Value factor = Log ? log(sum) : 1 / sum;
#pragma unroll 1
        for (u64 i = team.rank; i < cols; i += team.width) {
            const Value x = widen(src[i]) - state.largest;
            dst[i] = narrow<T>(Log ? x - factor : falling_exp<T>(x) * factor);
        }
    }
};

// A thread's share of the sum of a row's squares, each value times `scale`.
template <typename T>
RK_DEVICE arith<T> squares_of_thread(const Team &team, u64 cols, const T *src, arith<T> scale) {
    arith<T> sum = 0;
#pragma unroll 1
    for (u64 i = team.rank; i < cols; i += team.width) {
        const arith<T> x = widen(src[i]) * scale;
        sum += x * x;
    }
    return sum;
}

template <typename T>
struct RmsNorm {
    using Value = arith<T>;
    Weights<T> weights;
    Value eps;

    RK_DEVICE bool are_aligned() const { return weights.are_aligned(); }
    RK_DEVICE Value factor(const ScaledSquares<Value> &squares, u64 cols) const {
        return 1 / sqrt(squares.sum / static_cast<Value>(cols) + eps * squares.scale * squares.scale);
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
        const Value by = factor(squares, cols), scale = squares.scale;
        row.store(team, cols, dst, [this](u32 n) { return weights.template pack<Aligned>(n); },
                  [this, by, scale](const auto &pair, u32 j, Value x) {
                      return weights.apply(x * by * scale, pair, j);
                  });
    }
    RK_DEVICE void streamed(Team &team, u64 cols, const T *src, T *dst) const {
        const auto squares = team_squares<Value>(team, eps, [&](Value scale) {
            return squares_of_thread(team, cols, src, scale);
        });
        const Value by = factor(squares, cols);
#pragma unroll 1
        for (u64 i = team.rank; i < cols; i += team.width) {
            dst[i] = narrow<T>(weights.apply_at(widen(src[i]) * by * squares.scale, i));
        }
    }
};

template <typename T>
struct LayerNorm {
    using Value = arith<T>;
    using Moments = ScaledMoments<Value>;
    Weights<T> weights;
    Value eps;

    RK_DEVICE bool are_aligned() const { return weights.are_aligned(); }
    RK_DEVICE Value factor(const Moments &moments, u64 cols) const {
        return 1 / sqrt(moments.squares / static_cast<Value>(cols) + eps * moments.scale * moments.scale);
    }
    template <bool Aligned>
    RK_DEVICE void cached(Team &team, u32 cols, const T *src, T *dst) const {
        using Sum = reduction::sum<Value>;
        CachedRow<T, Aligned> row;
        row.load(team, cols, src);
        const u32 lanes = lanes_of(team);
        const Value held = static_cast<Value>(row.held_by_wave(team, cols));
        const auto moments = team_moments<Value>(team, static_cast<Value>(cols), eps, [&](Value scale) {
            const Value sum = lanes_join<Sum>(row.sum(team, cols, [=](Value x) { return x * scale; }), lanes);
            row.narrow_again();
            const Value mean = held > 0 ? sum / held : 0;
            const Value squares = row.sum(team, cols, [=](Value x) {
                const Value distance = fma(x, scale, -mean);
                return distance * distance;
            });
            row.narrow_again();
            return Moments{held, mean, lanes_join<Sum>(squares, lanes), scale};
        });
        const Value by = factor(moments, cols), mean = moments.mean, scale = moments.scale;
        row.store(team, cols, dst, [this](u32 n) { return weights.template pack<Aligned>(n); },
                  [this, by, mean, scale](const auto &pair, u32 j, Value x) {
                      return weights.apply(fma(x, scale, -mean) * by, pair, j);
                  });
    }
    RK_DEVICE void streamed(Team &team, u64 cols, const T *src, T *dst) const {
        const auto moments = team_moments<Value>(team, static_cast<Value>(cols), eps, [&](Value scale) {
            return moments_of_lanes<Value>(lanes_of(team), scale, [&](auto take) {
#pragma unroll 1
                for (u64 i = team.rank; i < cols; i += team.width) {
                    take(widen(src[i]));
                }
            });
        });
        const Value by = factor(moments, cols);
#pragma unroll 1
        for (u64 i = team.rank; i < cols; i += team.width) {
            dst[i] = narrow<T>(weights.apply_at(fma(widen(src[i]), moments.scale, -moments.mean) * by, i));
        }
    }
};

// A team without a row of its own keeps the others company at their barriers: its row has no elements.
// each(row's length, its offset)
template <typename Each>
RK_DEVICE void normalize_each(const Team &team, u64 rows, u64 cols, Each each) {
    const u64 step = static_cast<u64>(grid_x()) * team.count;
#pragma unroll 1
    for (u64 first = static_cast<u64>(block_x()) * team.count; first < rows; first += step) {
        const u64 row = first + team.index;
        each(row < rows ? cols : 0, row < rows ? row * cols : 0);
    }
}

template <bool Aligned, typename T, typename Norm>
RK_DEVICE void normalize_cached(Team team, u64 rows, u64 cols, const T *src, T *dst, const Norm &norm) {
    normalize_each(team, rows, cols, [&](u64 count, u64 offset) {
        norm.template cached<Aligned>(team, static_cast<u32>(count), src + offset, dst + offset);
    });
}

// Every row through `norm`, in an order of its sums that the length of rows decides.
template <typename T, typename Norm>
RK_DEVICE void normalize_rows(u64 rows, u64 cols, const T *src, T *dst, const Norm &norm) {
    Team team = team_along_x();
    if (cols > 0 && CachedRow<T, true>::holds(team, cols) && is_aligned(dst, vector_bytes)) {
        if (!has_unaligned_loads && is_aligned(src, vector_bytes) && norm.are_aligned()) {
            normalize_cached<true>(team, rows, cols, src, dst, norm);
        } else {
            normalize_cached<false>(team, rows, cols, src, dst, norm);
        }
    } else {
        normalize_each(team, rows, cols, [&](u64 count, u64 offset) {
            norm.streamed(team, count, src + offset, dst + offset);
        });
    }
}

// Candle's launch: one block per row, of any shape. A block whose shape makes no team leaves the row to its first thread.
template <typename T, typename Norm>
RK_DEVICE void normalize_block_row(u64 cols, const T *src, T *dst, const Norm &norm) {
    Team team = team_of_block();
    const u64 offset = static_cast<u64>(block_x()) * cols;
    if (team.index == 0) {
        norm.streamed(team, cols, src + offset, dst + offset);
    }
}

}  // namespace rk
