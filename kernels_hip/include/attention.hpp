// Attention of few queries to few keys: a team of threads a query, whose scores stay in LDS. f16 and bf16 compute in f32
// and round once.
#pragma once

#include "index.hpp"
#include "reductions.hpp"
#include "team.hpp"

namespace rk {

constexpr u32 attention_scores = 1024;  // of all teams of a block

// Strides between rows and between columns.
struct Plane {
    u64 row;
    u64 column;
};

struct AttentionSizes {
    u64 batches;
    u64 queries;
    u64 keys;
    u64 features;
    u64 outputs;  // features of a value
};

// info: `num_dims` batch dims, the batch strides of query, key, value and mask, then each one's Plane.
template <typename T>
RK_DEVICE void attention(const AttentionSizes &size, u64 num_dims, const u64 *info, f64 scale, bool is_truth,
                         const T *query, const T *key, const T *value, const u8 *mask, T *out) {
    using Value = arith<T>;
    __shared__ Value scores[attention_scores];
    const Plane *plane = reinterpret_cast<const Plane *>(info + 5 * num_dims);
    const Value factor = static_cast<Value>(scale);
    const u64 rows = size.batches * size.queries;
    Team team = team_along_x();
    Value *mine = scores + team.index * size.keys;
#pragma unroll 1
    for (u64 first = static_cast<u64>(block_x()) * team.count; first < rows;
         first += static_cast<u64>(grid_x()) * team.count) {
        const u64 row = first + team.index;
        const u64 keys = row < rows ? size.keys : 0;  // a team without a row meets the others at their barriers
        const u64 batch = divide(row, size.queries, rows <= 0xffffffffu);
        const u64 q = row - batch * size.queries;
        const auto offsets = strided_offsets<4>(batch, size.batches, num_dims, info, info + num_dims);
        const T *from = query + offsets.of[0] + q * plane[0].row;
        const u64 masked = offsets.of[3] + q * plane[3].row;
        Value largest = lowest<Value>();
#pragma unroll 1
        for (u64 j = team.rank; j < keys; j += team.width) {
            const T *to = key + offsets.of[1] + j * plane[1].row;
            Value score = 0;
#pragma unroll 1
            for (u64 d = 0; d < size.features; ++d) {
                score += widen(from[d * plane[0].column]) * widen(to[d * plane[1].column]);
            }
            score *= factor;
            if (mask != nullptr) {
                const u64 at = masked + j * plane[3].column;
                score += is_truth ? (mask[at] != 0 ? Value(0) : lowest<Value>())
                                  : widen(reinterpret_cast<const T *>(mask)[at]);
            }
            mine[j] = score;
            largest = maximum(largest, score);
        }
        largest = team_join<reduction::max<Value>>(team, largest);
        Value sum = 0;
#pragma unroll 1
        for (u64 j = team.rank; j < keys; j += team.width) {
            const Value weight = exp(mine[j] - largest);
            mine[j] = weight;
            sum += weight;
        }
        sum = team_join<reduction::sum<Value>>(team, sum);
        barrier();
#pragma unroll 1
        for (u64 e = team.rank; e < (keys > 0 ? size.outputs : 0); e += team.width) {
            const T *line = value + offsets.of[2] + e * plane[2].column;
            Value total = 0;
#pragma unroll 1
            for (u64 j = 0; j < keys; ++j) {
                total += mine[j] * widen(line[j * plane[2].row]);
            }
            out[row * size.outputs + e] = narrow<T>(total / sum);
        }
        barrier();
    }
}

}  // namespace rk
