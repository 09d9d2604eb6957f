// Blocks to floats: dequantization of whole tensors and of selected rows. One thread writes four values, so that the
// lanes of a wave store contiguous bytes.
#pragma once

#include "formats.hpp"

namespace rk::quantized {

template <typename F, typename T>
RK_DEVICE void dequantize_quad(const u8 *block, u32 p, T *out) {
    const u32 quants = quants_at<F, 1>(block, p).lane[0];
    const f32 scale = F::scale(block, p), minimum = F::minimum(block, p);
    Pack<T, 4> values;
#pragma unroll
    for (u32 i = 0; i < 4; ++i) {
        values.lane[i] = narrow<T>(dequantized<F>(scale, minimum, quant(quants, i)));
    }
    *reinterpret_cast<Pack<T, 4> *>(out) = values;
}

template <typename F, typename T>
RK_DEVICE void dequantize(const u8 *blocks, T *out, u64 count) {
    constexpr u32 quads = F::VALUES / 4;
    for (u64 quad = global_thread(); quad < count * quads; quad += global_threads()) {
        dequantize_quad<F>(block_at<F>(blocks, quad / quads), u32(quad % quads) * 4, out + quad * 4);
    }
}

// Row ids[block_x] of the table goes to row block_x of the output; the blocks of one column of the grid share the row.
template <typename F>
RK_DEVICE void get_quantized_rows(const u8 *table, const u32 *ids, f32 *out, i64 columns, u64 row_bytes) {
    constexpr u32 quads = F::VALUES / 4;
    const u8 *row = table + ids[block_x()] * row_bytes;
    f32 *target = out + block_x() * u64(columns);
    const u64 step = u64(grid_y()) * block_size_x();
    for (u64 quad = u64(block_y()) * block_size_x() + thread_x(); quad < u64(columns) / 4; quad += step) {
        dequantize_quad<F>(block_at<F>(row, quad / quads), u32(quad % quads) * 4, target + quad * 4);
    }
}

template <typename T>
RK_DEVICE void get_float_rows(const u8 *table, const u32 *ids, f32 *out, i64 columns, u64 row_bytes) {
    const T *row = reinterpret_cast<const T *>(table + ids[block_x()] * row_bytes);
    f32 *target = out + block_x() * u64(columns);
    const u64 step = u64(grid_y()) * block_size_x();
    for (u64 i = u64(block_y()) * block_size_x() + thread_x(); i < u64(columns); i += step) {
        target[i] = widen(row[i]);
    }
}

}  // namespace rk::quantized
