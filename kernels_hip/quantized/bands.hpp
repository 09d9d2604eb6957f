// Quantized matrix times eight prepared vectors, by matrix instructions. A block takes a band of 16 rows at a time; its
// waves share the columns by slabs, which each copies to LDS ahead of its work, and add their sums up in the end. The
// first copies begin while the vectors are still prepared. The launch that prepares them is not an early one, so that
// whatever wrote the matrix, or reads what the product overwrites, has ended before.
#pragma once

#include "matvec.hpp"
#include "prepared.hpp"

namespace rk::quantized {

constexpr u32 BAND_THREADS = 256, BAND_BLOCKS = 2;  // of a block, and blocks of a multiprocessor
constexpr u32 BAND_ROWS = 16, BAND_WAVES = BAND_THREADS / wave_size, BAND_ROOM = 5632;  // bytes of a wave's ring

// The slabs of a band that a wave has asked for. Lines begin at the pack of 16 bytes in which their first byte lies, and
// are an odd number of packs apart, so that neighbouring rows meet different banks.
template <typename F>
struct BandRing {
    static constexpr u32 slab_bytes = SLAB_VALUES / F::VALUES * F::BYTES;
    static constexpr u32 packs = (slab_bytes + 31 - alignment_of(F::BYTES)) / 16, line_packs = packs | 1;
    static constexpr u32 most_turns = BAND_ROOM / (BAND_ROWS * line_packs * 16), turns = most_turns < 1 ? 1 : most_turns;
    using Lines = u8[BAND_ROWS][line_packs * 16];

    alignas(16) Lines lines[turns];

    // From the beginning of a line in LDS to the byte that comes from `address`.
    RK_DEVICE static u32 ahead(u64 address) { return alignment_of(F::BYTES) == 16 ? 0 : u32(address) % 16; }
};

// Where a wave's next copies come from; lanes take packs in their order in LDS. An allocation begins at a whole pack, so
// what lies before the matrix in its first one can be read.
template <typename F>
struct BandCopies {
    using R = BandRing<F>;
    static constexpr u32 steps = (BAND_ROWS * R::line_packs + wave_size - 1) / wave_size;

    const u8 *matrix;
    u64 row_bytes, rows, row, row_step;
    u32 slab, first_slab, slab_step, slabs;
    u32 from[steps];  // the beginning of the lane's packs from that of the band, where rows are whole packs; or nothing
    bool is_even;

    static constexpr u32 nothing = ~0u;

    RK_DEVICE void prepare(u32 lane) {
        is_even = row_bytes % 16 == 0 && row_bytes < 1u << 27;
        const u32 start = R::ahead(reinterpret_cast<u64>(matrix));
        const u32 bytes = R::slab_bytes % 16 == 0 ? start + R::slab_bytes : R::packs * 16;
#pragma unroll
        for (u32 i = 0; i < steps; ++i) {
            const u32 task = i * wave_size + lane, r = task / R::line_packs, here = task % R::line_packs * 16;
            from[i] = r < BAND_ROWS && here < bytes ? r * u32(row_bytes) + here : nothing;
        }
    }

    RK_DEVICE void begin(typename R::Lines &lines, u32 lane) {
        if (row < rows) {
            const u64 done = u64(slab) * R::slab_bytes;
            const u8 *first = matrix + row * row_bytes + done;
            if (is_even && row + BAND_ROWS < rows && done + R::slab_bytes <= row_bytes) {
                first -= R::ahead(reinterpret_cast<u64>(first));
#pragma unroll
                for (u32 i = 0; i < steps; ++i) {
                    if (from[i] != nothing) {
                        begin_copy_once(&lines[0][0] + (i * wave_size + lane) * 16, first + from[i]);
                    }
                }
            } else {
                begin_parts(lines, first, done, lane);
            }
            slab += slab_step;
            if (slab >= slabs) {
                slab = first_slab;
                row += row_step;
            }
        }
        end_group_of_copies();
    }

    // Of any rows, and where the slab or the band ends early.
    RK_DEVICE void begin_parts(typename R::Lines &lines, const u8 *first, u64 done, u32 lane) {
        const u32 bytes = row_bytes - done < R::slab_bytes ? u32(row_bytes - done) : R::slab_bytes;
#pragma unroll 1
        for (u32 task = lane; task < BAND_ROWS * R::line_packs; task += wave_size) {
            const u32 r = task / R::line_packs, here = task % R::line_packs * 16;
            const u8 *line = first + r * row_bytes;
            const u32 ahead = R::ahead(reinterpret_cast<u64>(line)), end = ahead + bytes;
            if (row + r < rows && here < ahead + R::slab_bytes) {
                begin_copy_of(here >= end ? 0 : end - here < 16 ? end - here : 16, &lines[r][here], line - ahead + here);
            }
        }
    }
};

// A lane's share of a slab of the vectors.
template <typename F>
struct BandVectors {
    static constexpr u32 summed = !F::HAS_MINIMUM ? 0 : F::GROUP == 16 ? 2 : 1;
    Pack<u32, 4> quants[Slab::pairs];
    Pack<f32, 4> scales[Slab::pairs];
    Pack<f32, 4> sums[summed == 0 ? 1 : summed][Slab::pairs];

    template <typename T>
    RK_DEVICE static Pack<T, 4> four(const T &from) {
        return *reinterpret_cast<const Pack<T, 4> *>(&from);
    }

    RK_DEVICE void load(const Slab &slab, u32 lane) {
#pragma unroll
        for (u32 i = 0; i < Slab::pairs; ++i) {
            quants[i] = four(slab.quants[Slab::place(lane / 4, i * 4, lane % 4)]);
            scales[i] = four(slab.scales[i][lane % 4][0][0]);
#pragma unroll
            for (u32 h = 0; h < summed; ++h) {
                sums[h][i] = four(summed == 1 ? slab.sums[i][lane % 4][0][0] : slab.half_sums[h][i][lane % 4][0][0]);
            }
        }
    }
};

// Four levels with what lies OFFSET above zero put around it, at the top of the byte.
template <typename F>
RK_DEVICE u32 centred(const u8 *block, u32 p) {
    const u32 levels = F::template levels<1>(block, p).lane[0];
    if constexpr (F::OFFSET == 0) {
        return levels;
    } else {
        return levels * (128 / F::OFFSET) ^ 0x80808080u;
    }
}

// As WHOLE, for products that so are larger: the bits of this plus the product stand for it plus what the product was.
template <typename F>
constexpr f32 BAND_WHOLE = F::OFFSET == 0 ? WHOLE : WHOLE * F::OFFSET / 128;

// What a lane has of the products of a slab's group of columns, of whole scales where blocks have a factor of their own:
// `lines` are the slab's first bytes in rows lane / 4 and 8 + lane / 4.
template <typename F>
RK_DEVICE void add_group(const u8 *const (&lines)[2], const BandVectors<F> &vectors, u32 i, u32 lane, f32 (&sums)[4],
                         [[maybe_unused]] f32 (&minima)[4]) {
    constexpr u32 parts = F::GROUP / 16;
    constexpr bool is_whole = F::VALUES == SLAB_VALUES;
    const u32 p = i * F::GROUP % F::VALUES, u = i * parts / 2;
    const u8 *const blocks[2] = {block_at<F>(lines[0], i * F::GROUP / F::VALUES),
                                 block_at<F>(lines[1], i * F::GROUP / F::VALUES)};
    u32 rows[2 * parts], columns[parts];
#pragma unroll
    for (u32 h = 0; h < parts; ++h) {
        const u32 half = i * parts + h;
        columns[h] = vectors.quants[half / 4].lane[half % 4];
        rows[2 * h] = centred<F>(blocks[0], p + 16 * h + lane % 4 * 4);
        rows[2 * h + 1] = centred<F>(blocks[1], p + 16 * h + lane % 4 * 4);
    }
    i32 products[4];
    multiply_bytes(rows, columns, bit_cast<i32>(BAND_WHOLE<F>), products);
#pragma unroll
    for (u32 r = 0; r < 2; ++r) {
        f32 scale, minimum = 0;
        if constexpr (is_whole) {
            scale = F::whole(blocks[r], p);
            if constexpr (F::HAS_MINIMUM) {
                minimum = F::whole_minimum(blocks[r], p);
            }
        } else {
            scale = F::scale(blocks[r], p);
            minimum = F::minimum(blocks[r], p);
        }
#pragma unroll
        for (u32 k = 0; k < 2; ++k) {
            const u32 v = u % 2 * 2 + k;
            const f32 product = bit_cast<f32>(products[2 * r + k]);
            // A whole scale takes the offset exactly.
            const f32 value = is_whole ? fma(product, scale, scale * -BAND_WHOLE<F>) : scale * (product - BAND_WHOLE<F>);
            sums[2 * r + k] = fma(vectors.scales[u / 2].lane[v], value, sums[2 * r + k]);
            if constexpr (F::HAS_MINIMUM) {
                minima[2 * r + k] = fma(minimum, vectors.sums[i * parts % 2][u / 2].lane[v], minima[2 * r + k]);
            }
        }
    }
}

template <typename F>
RK_DEVICE void add_slab(const u8 *const (&lines)[2], const BandVectors<F> &vectors, u32 lane, f32 (&sums)[4]) {
    f32 own[4] = {}, minima[4] = {};
#pragma unroll
    for (u32 i = 0; i < SLAB_VALUES / F::GROUP; ++i) {
        add_group(lines, vectors, i, lane, own, minima);
    }
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
        if constexpr (F::VALUES == SLAB_VALUES) {
            const u8 *block = block_at<F>(lines[k / 2], 0);
            sums[k] = fma(F::factor(block), own[k], sums[k]);
            if constexpr (F::HAS_MINIMUM) {
                sums[k] = fma(-F::minimum_factor(block), minima[k], sums[k]);
            }
        } else {
            sums[k] += own[k] - minima[k];
        }
    }
}

template <typename F, typename Store>
RK_DEVICE void multiply_bands(const u8 *matrix, const Prepared &vectors, const MatrixShape &shape, const Store &store) {
    using R = BandRing<F>;
    __shared__ R rings[BAND_WAVES];
    __shared__ Pack<f32, 4> shares[BAND_WAVES][wave_size];
    const u32 threads = block_size_x() * block_size_y(), thread = thread_y() * block_size_x() + thread_x();
    const u32 waves = threads / wave_size, wave = thread / wave_size, lane = thread % wave_size;
    const u32 slabs = (shape.columns + SLAB_VALUES - 1) / SLAB_VALUES;
    const u64 row_bytes = u64(shape.columns / F::VALUES) * F::BYTES, step = u64(grid_x()) * BAND_ROWS;
    R &ring = rings[wave];
    BandCopies<F> copies = {matrix, row_bytes, wave < slabs ? shape.rows : 0, u64(block_x()) * BAND_ROWS, step,
                            wave, wave, waves, slabs, {}, false};
    copies.prepare(lane);
#pragma unroll 1
    for (u32 i = 0; i < R::turns; ++i) {
        copies.begin(ring.lines[i], lane);
    }
    for (u32 w = waves + wave; w < BAND_WAVES; w += waves) {
        shares[w][lane] = {};
    }
    await_launch_ahead();
    u32 turn = 0;
#pragma unroll 1
    for (u64 row = u64(block_x()) * BAND_ROWS; row < shape.rows; row += step) {
        f32 sums[4] = {};
#pragma unroll 1
        for (u32 slab = wave; slab < slabs; slab += waves) {
            BandVectors<F> values;
            values.load(vectors.slabs[slab], lane);
            const u8 *lines[2];
#pragma unroll
            for (u32 r = 0; r < 2; ++r) {
                const u32 i = r * 8 + lane / 4;
                const u64 from = reinterpret_cast<u64>(matrix) + (row + i) * row_bytes + u64(slab) * R::slab_bytes;
                lines[r] = &ring.lines[turn][i][0] + R::ahead(from);
            }
            await_copies<R::turns - 1>();
            wave_sync();
            add_slab<F>(lines, values, lane, sums);
            wave_sync();
            copies.begin(ring.lines[turn], lane);
            turn = turn + 1 < R::turns ? turn + 1 : 0;
        }
        shares[wave][lane] = {sums[0], sums[1], sums[2], sums[3]};
        barrier();
        for (u32 i = thread; i < BAND_ROWS * PREPARED_VECTORS; i += threads) {
            const u32 r = i % BAND_ROWS, v = i / BAND_ROWS;
            f32 sum = 0;
#pragma unroll
            for (u32 w = 0; w < BAND_WAVES; ++w) {
                sum += shares[w][r % 8 * 4 + v / 2].lane[r / 8 * 2 + v % 2];
            }
            if (row + r < shape.rows) {
                store(v, row + r, sum);
            }
        }
        barrier();
    }
}

// Up to VECTORS prepared vectors, sums of the type that `kind` says.
template <typename F, u32 VECTORS, u32 ROWS, u32 UNROLL>
RK_DEVICE void multiply_prepared(const u8 *matrix, const Prepared &vectors, u8 *out, const MatrixShape &shape, u32 count,
                                 u32 kind) {
    const auto store = [=](u32 v, u64 row, f32 sum) {
        if (v < count) {
            store_as(kind, out, v * shape.out_rows + row, sum);
        }
    };
    if constexpr (has_byte_matrix) {
        multiply_bands<F>(matrix, vectors, shape, store);
    } else {
        multiply_rows<F, VECTORS, ROWS, UNROLL>(matrix, vectors, shape, store);
    }
}

}  // namespace rk::quantized
