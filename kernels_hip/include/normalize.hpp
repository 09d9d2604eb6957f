// Softmax and the norms of contiguous rows. A row that fits its team's registers is read once; any other row is read
// once per pass. All arithmetic is in f32, or f64 for f64, and rounds once; in place is allowed.
#pragma once

#include "rows.hpp"

namespace rk {

// Registers that a thread gives to its row, in bytes: with 64 a block of 1024 threads has the others it needs, with 128
// one of 512, of which two then overlap where only one of 1024 would fit.
constexpr u32 short_share = 64;
constexpr u32 long_share = 128;

// A thread's packs of its row, widened. Pack p of the row belongs to thread p % width, so that a wave reads in one sweep.
template <typename T, u32 Bytes>
struct CachedRow {
    using Value = arith<T>;
    static constexpr u32 width = vector_bytes / sizeof(T);
    static constexpr u32 packs = Bytes / sizeof(Value) / width;
    using Vector = Pack<T, width>;
    Value value[packs][width];

    RK_DEVICE static bool holds(const Team &team, u64 cols) {
        return cols % width == 0 && cols <= static_cast<u64>(team.width) * packs * width;
    }
    RK_DEVICE static u32 number(const Team &team, u32 p) { return team.rank + p * team.width; }

    // Elements past the row's end read as `fill`.
    RK_DEVICE void load(const Team &team, u32 cols, const T *src, Value fill) {
        Vector loaded[packs];
#pragma unroll
        for (u32 p = 0; p < packs; ++p) {
            if (number(team, p) < cols / width) {
                loaded[p] = reinterpret_cast<const Vector *>(src)[number(team, p)];
            }
        }
#pragma unroll
        for (u32 p = 0; p < packs; ++p) {
            const bool inside = number(team, p) < cols / width;
#pragma unroll
            for (u32 j = 0; j < width; ++j) {
                value[p][j] = inside ? widen(loaded[p].lane[j]) : fill;
            }
        }
    }
    template <typename Step>
    RK_DEVICE void each(const Team &team, u32 cols, Step step) {
#pragma unroll
        for (u32 p = 0; p < packs; ++p) {
            if (number(team, p) < cols / width) {
#pragma unroll
                for (u32 j = 0; j < width; ++j) {
                    step(value[p][j]);
                }
            }
        }
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
                    out.lane[j] = narrow<T>(result(context, j, value[p][j]));
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
    RK_DEVICE bool is_packed() const { return is_aligned(scale, vector_bytes) && is_aligned(shift, vector_bytes); }
    RK_DEVICE Pair pack(u32 n) const {
        Pair pair = {};
        if (scale) {
            pair.scale = reinterpret_cast<const Vector *>(scale)[n];
        }
        if (shift) {
            pair.shift = reinterpret_cast<const Vector *>(shift)[n];
        }
        return pair;
    }
    RK_DEVICE arith<T> apply(arith<T> x, T by, T plus) const {
        const arith<T> scaled = scale ? x * widen(by) : x;
        return shift ? scaled + widen(plus) : scaled;
    }
    RK_DEVICE arith<T> apply_at(arith<T> x, u64 i) const {
        const arith<T> scaled = scale ? x * widen(scale[i]) : x;
        return shift ? scaled + widen(shift[i]) : scaled;
    }
};

// The sum over a row that is not cached.
template <typename T, typename Term>
RK_DEVICE arith<T> team_sum(const Team &team, u64 cols, Term term) {
    arith<T> sum = 0;
#pragma unroll 1
    for (u64 i = team.rank; i < cols; i += team.width) {
        sum += term(i);
    }
    return team_join<reduction::sum<arith<T>>>(team, sum);
}

// exp(x) for x <= 0. Results that round to f16 or bf16 can take the product with log2(e), whose error grows with x.
template <typename T>
RK_DEVICE arith<T> falling_exp(arith<T> x) {
    if constexpr (is_short_float<T>) {
        return exp2(x * 1.44269504f);
    } else {
        return exp(x);
    }
}

template <typename T, bool Log>
struct Softmax {
    using Value = arith<T>;

    RK_DEVICE bool is_packed() const { return true; }
    template <u32 Bytes>
    RK_DEVICE void cached(const Team &team, u32 cols, const T *src, T *dst) const {
        CachedRow<T, Bytes> row;
        row.load(team, cols, src, lowest<Value>());
        Value largest = lowest<Value>();
        row.each(team, cols, [&](Value x) { largest = maximum(largest, x); });
        largest = team_join<reduction::max<Value>>(team, largest);
        Value sum = 0;
        row.each(team, cols, [&](Value &x) {
            const Value power = falling_exp<T>(x - largest);
            sum += power;
            x = Log ? x - largest : power;
        });
        sum = team_join<reduction::sum<Value>>(team, sum);
        const Value factor = Log ? log(sum) : 1 / sum;
        row.store(team, cols, dst, [](u32) { return 0; },
                  [=](int, u32, Value x) { return Log ? x - factor : x * factor; });
    }
    RK_DEVICE void streamed(const Team &team, u64 cols, const T *src, T *dst) const {
        using Op = reduction::logsumexp<T>;
        const auto state = team_join<Op>(team, packed_state<Op>(src, 0, cols, team));
        const Value factor = Log ? log(state.sum) : 1 / state.sum;
#pragma unroll 1
        for (u64 i = team.rank; i < cols; i += team.width) {
            const Value x = widen(src[i]) - state.largest;
            dst[i] = narrow<T>(Log ? x - factor : falling_exp<T>(x) * factor);
        }
    }
};

template <typename T>
struct RmsNorm {
    using Value = arith<T>;
    Weights<T> weights;
    Value eps;

    RK_DEVICE bool is_packed() const { return weights.is_packed(); }
    RK_DEVICE Value factor(Value squares, u64 cols) const {
        return 1 / sqrt(squares / static_cast<Value>(cols) + eps);
    }
    template <u32 Bytes>
    RK_DEVICE void cached(const Team &team, u32 cols, const T *src, T *dst) const {
        CachedRow<T, Bytes> row;
        row.load(team, cols, src, 0);
        Value squares = 0;
        row.each(team, cols, [&](Value x) { squares += x * x; });
        const Value by = factor(team_join<reduction::sum<Value>>(team, squares), cols);
        row.store(team, cols, dst, [this](u32 n) { return weights.pack(n); },
                  [this, by](const auto &pair, u32 j, Value x) {
                      return weights.apply(x * by, pair.scale.lane[j], pair.shift.lane[j]);
                  });
    }
    RK_DEVICE void streamed(const Team &team, u64 cols, const T *src, T *dst) const {
        const Value squares = team_sum<T>(team, cols, [=](u64 i) { return widen(src[i]) * widen(src[i]); });
        const Value by = factor(squares, cols);
#pragma unroll 1
        for (u64 i = team.rank; i < cols; i += team.width) {
            dst[i] = narrow<T>(weights.apply_at(widen(src[i]) * by, i));
        }
    }
};

// Two passes, mean then squared distances from it: a large mean costs no digits.
template <typename T>
struct LayerNorm {
    using Value = arith<T>;
    Weights<T> weights;
    Value eps;

    RK_DEVICE bool is_packed() const { return weights.is_packed(); }
    RK_DEVICE Value factor(Value squares, u64 cols) const {
        return 1 / sqrt(squares / static_cast<Value>(cols) + eps);
    }
    template <u32 Bytes>
    RK_DEVICE void cached(const Team &team, u32 cols, const T *src, T *dst) const {
        using Sum = reduction::sum<Value>;
        CachedRow<T, Bytes> row;
        row.load(team, cols, src, 0);
        Value sum = 0;
        row.each(team, cols, [&](Value x) { sum += x; });
        const Value mean = team_join<Sum>(team, sum) / static_cast<Value>(cols);
        Value squares = 0;
        row.each(team, cols, [&](Value &x) {
            x -= mean;
            squares += x * x;
        });
        const Value by = factor(team_join<Sum>(team, squares), cols);
        row.store(team, cols, dst, [this](u32 n) { return weights.pack(n); },
                  [this, by](const auto &pair, u32 j, Value x) {
                      return weights.apply(x * by, pair.scale.lane[j], pair.shift.lane[j]);
                  });
    }
    RK_DEVICE void streamed(const Team &team, u64 cols, const T *src, T *dst) const {
        const Value sum = team_sum<T>(team, cols, [=](u64 i) { return widen(src[i]); });
        const Value mean = sum / static_cast<Value>(cols);
        const Value squares = team_sum<T>(team, cols, [=](u64 i) {
            const Value distance = widen(src[i]) - mean;
            return distance * distance;
        });
        const Value by = factor(squares, cols);
#pragma unroll 1
        for (u64 i = team.rank; i < cols; i += team.width) {
            dst[i] = narrow<T>(weights.apply_at((widen(src[i]) - mean) * by, i));
        }
    }
};

// Every row through `norm`. A team without a row of its own keeps the others company at their barriers: its row has no
// elements.
template <u32 Bytes, typename T, typename Norm>
RK_DEVICE void normalize_rows(u64 rows, u64 cols, const T *src, T *dst, const Norm &norm) {
    const Team team = team_along_x();
    const bool cached = CachedRow<T, Bytes>::holds(team, cols) && is_aligned(src, vector_bytes) &&
                        is_aligned(dst, vector_bytes) && norm.is_packed();
    const u64 step = static_cast<u64>(grid_x()) * team.count;
#pragma unroll 1
    for (u64 first = static_cast<u64>(block_x()) * team.count; first < rows; first += step) {
        const u64 row = first + team.index;
        const u64 count = row < rows ? cols : 0;
        const u64 offset = row < rows ? row * cols : 0;
        if (cached) {
            norm.template cached<Bytes>(team, static_cast<u32>(count), src + offset, dst + offset);
        } else {
            norm.streamed(team, count, src + offset, dst + offset);
        }
    }
}

// Candle's launch: one block per row, of any shape. A block whose shape makes no team leaves the row to its first thread.
template <typename T, typename Norm>
RK_DEVICE void normalize_block_row(u64 cols, const T *src, T *dst, const Norm &norm) {
    const Team team = team_of_block();
    const u64 offset = static_cast<u64>(block_x()) * cols;
    if (team.index == 0) {
        norm.streamed(team, cols, src + offset, dst + offset);
    }
}

}  // namespace rk
