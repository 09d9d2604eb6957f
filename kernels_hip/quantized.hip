// quantized: ggml's block formats: dequantize, select rows, quantize, and multiply by vectors, matrices and experts.
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

// Fewer threads than a block may have, and more registers for each.
#define FEW_THREADS(threads) extern "C" __global__ __attribute__((launch_bounds(threads))) void

#define MULTIPLY_VECTORS(symbol, format, vectors)                                                                     \
    FEW_THREADS(256) symbol(const rk::u8 *w, const rk::u8 *y, rk::f32 *dst, rk::i32 columns, rk::i32 rows,             \
                            rk::i32 padded, rk::i32 dst_rows) {                                                       \
        rk::quantized::multiply_rows<rk::quantized::format, vectors>(                                                 \
            w, y, dst, {rk::u32(columns), rk::u32(rows), rk::u32(padded) / 32, rk::u32(dst_rows)});                   \
    }

#define MULTIPLY_MATRICES(symbol, format)                                                                             \
    FEW_THREADS(rk::quantized::TILE_THREADS) symbol(                                                                  \
        const rk::u8 *w, const rk::u8 *y, rk::f32 *dst, rk::i32 columns, rk::i32 rows, rk::i32 vectors,               \
        rk::i32 padded, rk::i32 dst_rows) {                                                                           \
        __shared__ rk::quantized::Tile<rk::quantized::format> tile;                                                   \
        rk::quantized::multiply_tiles(tile, w, y, dst,                                                                \
                                      {rk::u32(columns), rk::u32(rows), rk::u32(padded) / 32, rk::u32(dst_rows)},     \
                                      rk::u32(vectors));                                                              \
    }

#define MULTIPLY_EXPERTS(symbol, format)                                                                              \
    FEW_THREADS(256) symbol(const rk::u8 *w, const rk::u8 *y, const rk::u32 *ids, rk::f32 *dst, rk::i32 rows,         \
                            rk::i32 columns, rk::i32 tokens, rk::i32 slots, rk::i32 padded,                           \
                            rk::i32 vectors_per_token) {                                                              \
        rk::quantized::multiply_experts<rk::quantized::format>(                                                       \
            w, y, ids, dst, {rk::u32(columns), rk::u32(rows), rk::u32(padded) / 32, rk::u32(rows)}, rk::u32(tokens),  \
            rk::u32(slots), vectors_per_token == 1);                                                                  \
    }

#include "instances/quantized.inc"
