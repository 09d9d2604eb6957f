// quantized: ggml's block formats: dequantize, select rows, quantize, and multiply by vectors, matrices and experts.
#include "quantized/bands.hpp"
#include "quantized/formats.hpp"
#include "quantized/matmul.hpp"
#include "quantized/matvec.hpp"
#include "quantized/quantize.hpp"
#include "quantized/quantize_k.hpp"
#include "quantized/rows.hpp"

// Blocks of 256: one for each block of the grid, as Candle launches; the count is the grid's.
#define DEQUANTIZE(symbol, format, T)                                                                                 \
    RK_KERNEL symbol(const rk::u8 *src, rk::T *dst) {                                                                 \
        rk::quantized::dequantize<rk::quantized::format>(src, dst, rk::grid_x());                                     \
    }

// Blocks of 32: `n` counts units of `per_block` a block, so blocks (1) or values (32).
#define DEQUANTIZE_COUNTED(symbol, format, T, per_block)                                                              \
    RK_KERNEL symbol(const rk::u8 *src, rk::T *dst, rk::i32 n) {                                                      \
        rk::quantized::dequantize<rk::quantized::format>(src, dst, rk::u32(n) / per_block);                           \
    }

#define GET_ROWS(symbol, format)                                                                                      \
    RK_KERNEL symbol(const rk::u8 *src, const rk::u32 *ids, rk::f32 *dst, rk::i64 columns, rk::u64 row_bytes) {       \
        rk::quantized::get_quantized_rows<rk::quantized::format>(src, ids, dst, columns, row_bytes);                  \
    }

#define GET_FLOAT_ROWS(symbol, T)                                                                                     \
    RK_KERNEL symbol(const rk::u8 *src, const rk::u32 *ids, rk::f32 *dst, rk::i64 columns, rk::u64 row_bytes) {       \
        rk::quantized::get_float_rows<rk::T>(src, ids, dst, columns, row_bytes);                                      \
    }

#define QUANTIZE_ACTIVATIONS(symbol, T)                                                                               \
    RK_KERNEL symbol(const rk::T *x, rk::u8 *y, rk::i32 columns, rk::i32 padded) {                                    \
        rk::quantized::quantize_activations(x, y, rk::u32(columns), rk::u32(padded));                                 \
    }

#define QUANTIZE(symbol, function, T)                                                                                 \
    RK_KERNEL symbol(const rk::T *src, rk::u8 *dst, rk::u64 blocks) { rk::quantized::function(src, dst, blocks); }

#define MULTIPLY_FLOATS(symbol, format)                                                                               \
    RK_KERNEL symbol(const rk::u8 *w, const rk::f32 *y, rk::f32 *dst, rk::i32 columns, rk::i32 rows) {                \
        rk::quantized::multiply_floats<rk::quantized::format>(w, y, dst, rk::u32(columns), rk::u32(rows));            \
    }

// Candle's q5_k alone has no row count: its rows are the blocks of the grid.
#define MULTIPLY_FLOATS_UNCOUNTED(symbol, format)                                                                     \
    RK_KERNEL symbol(const rk::u8 *w, const rk::f32 *y, rk::f32 *dst, rk::i32 columns) {                              \
        rk::quantized::multiply_floats<rk::quantized::format>(w, y, dst, rk::u32(columns), rk::grid_x());             \
    }

#define MULTIPLY_VECTORS(symbol, format, vectors, rows_per_wave, unroll)                                              \
    RK_BLOCK_KERNEL(256) symbol(const rk::u8 *w, const rk::u8 *y, rk::f32 *dst, rk::i32 columns, rk::i32 rows,             \
                            rk::i32 padded, rk::i32 dst_rows) {                                                       \
        rk::quantized::multiply_blocks<rk::quantized::format, vectors, rows_per_wave, unroll>(                        \
            w, {y, rk::u64(padded) / 32}, dst, {rk::u32(columns), rk::u64(rows), rk::u64(dst_rows)});                 \
    }

// Vectors of f32, f16 or bf16 (kind 0, 1, 2), of `values` values that zeros fill up to `columns`; dst is of their type.
#define MULTIPLY_VALUES(symbol, format, most_vectors, rows_per_wave, unroll)                                          \
    RK_BLOCKS_KERNEL(256, 4) symbol(                                                                                  \
        const rk::u8 *w, const rk::u8 *x, rk::u8 *dst, rk::i32 columns, rk::i32 rows, rk::i32 vectors,                \
        rk::i32 values, rk::i32 kind) {                                                                               \
        rk::quantized::multiply_values<rk::quantized::format, most_vectors, rows_per_wave, unroll>(                   \
            w, {x, rk::u32(values), rk::u32(vectors), rk::u32(kind)}, dst,                                            \
            {rk::u32(columns), rk::u64(rows), rk::u64(rows)});                                                        \
    }

// Vectors as MULTIPLY_VALUES takes them, to slabs.
#define PREPARE_VECTORS(symbol)                                                                                       \
    RK_BLOCK_KERNEL(256) symbol(const rk::u8 *x, rk::u8 *y, rk::i32 values, rk::i32 vectors, rk::i32 slabs,           \
                                rk::i32 kind) {                                                                       \
        rk::quantized::prepare({x, rk::u32(values), rk::u32(vectors), rk::u32(kind)},                                 \
                               reinterpret_cast<rk::quantized::Slab *>(y), rk::u32(slabs));                           \
    }

// Slabs of vectors; dst is of the type that `kind` says.
#define MULTIPLY_PREPARED(symbol, format, most_vectors, rows_per_wave, unroll)                                        \
    RK_BLOCKS_KERNEL(rk::quantized::BAND_THREADS, rk::quantized::BAND_BLOCKS) symbol(                                 \
        const rk::u8 *w, const rk::u8 *y, rk::u8 *dst, rk::i32 columns, rk::i32 rows, rk::i32 vectors,                \
        rk::i32 kind) {                                                                                               \
        rk::quantized::multiply_prepared<rk::quantized::format, most_vectors, rows_per_wave, unroll>(                 \
            w, {reinterpret_cast<const rk::quantized::Slab *>(y)}, dst,                                               \
            {rk::u32(columns), rk::u64(rows), rk::u64(rows)}, rk::u32(vectors), rk::u32(kind));                       \
    }

#define MULTIPLY_MATRICES(symbol, format)                                                                             \
    RK_BLOCK_KERNEL(rk::quantized::TILE_THREADS) symbol(                                                                  \
        const rk::u8 *w, const rk::u8 *y, rk::f32 *dst, rk::i32 columns, rk::i32 rows, rk::i32 vectors,               \
        rk::i32 padded, rk::i32 dst_rows) {                                                                           \
        __shared__ rk::quantized::Tile<rk::quantized::format> tile;                                                   \
        rk::quantized::multiply_tiles(tile, w, {y, rk::u64(padded) / 32}, dst,                                        \
                                      {rk::u32(columns), rk::u64(rows), rk::u64(dst_rows)}, rk::u64(vectors));        \
    }

#define MULTIPLY_EXPERTS(symbol, format)                                                                              \
    RK_BLOCK_KERNEL(256) symbol(const rk::u8 *w, const rk::u8 *y, const rk::u32 *ids, rk::f32 *dst, rk::i32 rows,         \
                            rk::i32 columns, rk::i32 tokens, rk::i32 slots, rk::i32 padded,                           \
                            rk::i32 vectors_per_token) {                                                              \
        using F = rk::quantized::format;                                                                              \
        const rk::quantized::MatrixShape shape = {rk::u32(columns), rk::u64(rows), rk::u64(rows)};                    \
        const rk::quantized::Blocks vectors = {y, rk::u64(padded) / 32};                                              \
        rk::quantized::for_each_expert(                                                                               \
            w, rk::quantized::matrix_bytes<F>(shape), ids, {rk::u32(tokens), rk::u32(slots), vectors_per_token == 1}, \
            [=](const rk::u8 *matrix, rk::u64 vector, rk::u64 task) {                                                 \
                rk::quantized::multiply_blocks<F, 1, 2, 1>(matrix, vectors.from(vector), dst + task * shape.rows,     \
                                                           shape);                                                    \
            });                                                                                                       \
    }

#define MULTIPLY_EXPERT_VALUES(symbol, format)                                                                        \
    RK_BLOCK_KERNEL(256) symbol(const rk::u8 *w, const rk::u8 *x, const rk::u32 *ids, rk::u8 *dst, rk::i32 rows,           \
                            rk::i32 columns, rk::i32 tokens, rk::i32 slots, rk::i32 vectors_per_token,                \
                            rk::i32 values, rk::i32 kind) {                                                           \
        using F = rk::quantized::format;                                                                              \
        const rk::quantized::MatrixShape shape = {rk::u32(columns), rk::u64(rows), rk::u64(rows)};                    \
        const rk::quantized::Floats vectors = {x, rk::u32(values), 1, rk::u32(kind)};                                 \
        rk::quantized::for_each_expert(                                                                               \
            w, rk::quantized::matrix_bytes<F>(shape), ids, {rk::u32(tokens), rk::u32(slots), vectors_per_token == 1}, \
            [=](const rk::u8 *matrix, rk::u64 vector, rk::u64 task) {                                                 \
                rk::quantized::multiply_values<F, 1, 2, 1>(matrix, vectors.from(vector),                              \
                                                           dst + task * shape.rows * vectors.value_bytes(), shape);   \
            });                                                                                                       \
    }

#include "instances/quantized.inc"
