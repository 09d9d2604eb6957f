// The k largest of each row's softmax, largest first, as experts are chosen for a token: a power of two of lanes keeps a
// row of up to 1024 values in registers and gives its largest away k times.
#pragma once

#include "device.hpp"
#include "index.hpp"
#include "reductions.hpp"
#include "team.hpp"

namespace rk {

// A probability above its column counted down, so that of equal ones the lower column is the larger number. No column
// gives 0, NaN more than any number.
struct Candidate {
    u64 packed;

    RK_DEVICE static Candidate identity() { return {0}; }
    RK_DEVICE static Candidate join(Candidate x, Candidate y) { return x.packed > y.packed ? x : y; }
    RK_DEVICE static u32 key(f32 p) { return is_nan(p) ? ~0u : bit_cast<u32>(p) + 1; }
    RK_DEVICE static Candidate of(u32 key, u32 column) { return {static_cast<u64>(key) << 32 | (~0u - column)}; }
    RK_DEVICE u32 column() const { return ~0u - static_cast<u32>(packed); }
    RK_DEVICE f32 probability() const {
        const u32 key = static_cast<u32>(packed >> 32);
        return bit_cast<f32>(key == ~0u ? 0x7fc00000u : key - 1);
    }
};

constexpr u32 gate_width = 4;  // neighbouring columns that a lane holds
constexpr u32 short_gates = 2;
constexpr u32 long_gates = 1024 / wave_size / gate_width;

// Rows of up to team.width · 4 · Gates columns; the team is at most a wave.
template <u32 Gates, typename T>
RK_DEVICE void topk_softmax_rows(const Team &team, const T *gating, f32 *weights, i32 *columns, u64 rows, u32 experts,
                                 u32 k, bool renormalize) {
    using Gate = Pack<T, gate_width>;
    using Max = reduction::max<f32>;
    using Sum = reduction::sum<f32>;
    const bool whole = experts % gate_width == 0 && is_aligned(gating, sizeof(Gate));
    const u64 step = static_cast<u64>(grid_x()) * team.count;
#pragma unroll 1
    for (u64 first = static_cast<u64>(block_x()) * team.count; first < rows; first += step) {
        const bool active = first + team.index < rows;
        const u64 row = active ? first + team.index : rows - 1;  // lanes without a row keep the wave complete
        const T *gates = gating + row * experts;
        f32 value[Gates][gate_width];
        f32 largest = lowest<f32>();
        Gate gate[Gates];
#pragma unroll
        for (u32 g = 0; g < Gates; ++g) {
            const u32 column = (g * team.width + team.rank) * gate_width;
#pragma unroll
            for (u32 j = 0; j < gate_width; ++j) {
                gate[g].lane[j] = narrow<T>(lowest<f32>());
                if (!whole && column + j < experts) {
                    gate[g].lane[j] = gates[column + j];
                }
            }
            if (whole && column < experts) {
                gate[g] = *reinterpret_cast<const Gate *>(gates + column);
            }
        }
#pragma unroll
        for (u32 g = 0; g < Gates; ++g) {
#pragma unroll
            for (u32 j = 0; j < gate_width; ++j) {
                value[g][j] = widen(gate[g].lane[j]);
                largest = maximum(largest, value[g][j]);
            }
        }
        largest = lanes_join<Max>(largest, team.width);
        f32 sum = 0;
#pragma unroll
        for (auto &four : value) {
#pragma unroll
            for (f32 &x : four) {
                x = exp(x - largest);
                sum += x;
            }
        }
        const f32 factor = 1 / lanes_join<Sum>(sum, team.width);
        const u32 columns_left = forgotten(experts);  // compared anew: no registers for the answers from above
        u32 key[Gates][gate_width];
#pragma unroll
        for (u32 g = 0; g < Gates; ++g) {
#pragma unroll
            for (u32 j = 0; j < gate_width; ++j) {
                const u32 column = (g * team.width + team.rank) * gate_width + j;
                key[g][j] = column < columns_left ? Candidate::key(value[g][j] * factor) : 0;
            }
        }
        f32 *weight = weights + row * k;
        i32 *chosen = columns + row * k;
        f32 total = 0;
        u32 taken = Gates * gate_width;  // which of this lane's values the last winner was, if one of them
#pragma unroll 1
        for (u32 i = 0; i < k; ++i) {
            u32 best = 0;
#pragma unroll
            for (u32 g = 0; g < Gates; ++g) {
#pragma unroll
                for (u32 j = 0; j < gate_width; ++j) {
                    key[g][j] = taken == g * gate_width + j ? 0 : key[g][j];
                    best = key[g][j] > best ? key[g][j] : best;
                }
            }
            u32 at = 0;
#pragma unroll
            for (u32 n = Gates * gate_width; n-- > 0;) {
                at = key[n / gate_width][n % gate_width] == best ? n : at;
            }
            const u32 column = (at / gate_width * team.width + team.rank) * gate_width + at % gate_width;
            const Candidate winner = lanes_join<Candidate>(Candidate::of(best, column), team.width);
            taken = winner.column() == column ? at : Gates * gate_width;
            total += winner.probability();
            if (active && i % team.width == team.rank) {
                weight[i] = winner.probability();
                chosen[i] = static_cast<i32>(winner.column());
            }
        }
        if (renormalize && active) {
#pragma unroll 1
            for (u32 i = team.rank; i < k; i += team.width) {
                weight[i] /= total;
            }
        }
    }
}

template <typename T>
RK_DEVICE void topk_softmax(const T *gating, f32 *weights, i32 *columns, u64 rows, u32 experts, u32 k, bool renormalize) {
    const Team team = team_along_x();
    if (experts <= team.width * gate_width * short_gates) {
        topk_softmax_rows<short_gates>(team, gating, weights, columns, rows, experts, k, renormalize);
    } else {
        topk_softmax_rows<long_gates>(team, gating, weights, columns, rows, experts, k, renormalize);
    }
}

}  // namespace rk
