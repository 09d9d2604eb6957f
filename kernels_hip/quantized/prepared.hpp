// Eight vectors quantized once for all blocks of a product, by a launch of its own.
#pragma once

#include "../include/device_early.hpp"
#include "activations.hpp"

namespace rk::quantized {

constexpr u32 PREPARED_VECTORS = 8, SLAB_VALUES = 256, SLAB_BYTES = 3072;

// SLAB_VALUES columns of the vectors; zeros past their ends, and for vectors that are not there.
struct Slab {
    static constexpr u32 units = SLAB_VALUES / UNIT, pairs = units / 2;

    alignas(16) u32 quants[SLAB_VALUES / 4 * PREPARED_VECTORS];
    f32 scales[pairs][PREPARED_VECTORS / 2][2][2];        // pair of units, pair of vectors, unit, vector
    f32 sums[pairs][PREPARED_VECTORS / 2][2][2];          // the scale times the sum of a unit's quants
    f32 half_sums[2][pairs][PREPARED_VECTORS / 2][2][2];  // of the first halves, then of the second

    // Where word i of a half is: with the others of the half, or where a lane of a matrix instruction needs it, with
    // those of the other halves of two units.
    RK_DEVICE static u32 place(u32 vector, u32 half, u32 i) {
        return has_byte_matrix ? ((half / 4 * PREPARED_VECTORS + vector) * 4 + i) * 4 + half % 4
                               : (half * PREPARED_VECTORS + vector) * 4 + i;
    }
};
static_assert(sizeof(Slab) == SLAB_BYTES);

struct Prepared {
    const Slab *slabs;

    using Read = Quants;
    RK_DEVICE Read read(u32 vector, u32 unit, u32 half) const {
        const Slab &slab = slabs[unit / Slab::units];
        const u32 u = unit % Slab::units;
        Quants quants = {{}, slab.scales[u / 2][vector / 2][u % 2][vector % 2]};
#pragma unroll
        for (u32 i = 0; i < 4; ++i) {
            quants.words.lane[i] = slab.quants[Slab::place(vector, u * 2 + half, i)];
        }
        return quants;
    }
    RK_DEVICE static Quants quants(const Read &read) { return read; }
};

// A thread takes 16 values, its neighbour the other half of the unit. Blocks are whole waves.
RK_DEVICE void prepare(const Floats &vectors, Slab *slabs, u32 count) {
    constexpr u32 halves = SLAB_VALUES / 16, tasks = halves * PREPARED_VECTORS;
    static_assert(tasks % wave_size == 0);
    let_next_begin();
    for (u64 task = global_thread(); task < u64(count) * tasks; task += global_threads()) {
        const u32 half = task % halves, vector = task / halves % PREPARED_VECTORS, index = u32(task / tasks);
        const u32 unit = half / 2;
        Quants quants = Floats::quants(vectors.read(vector, index * Slab::units + unit, half % 2));
        if (vector >= vectors.vectors) {
            quants = {};
        }
        Slab &slab = slabs[index];
#pragma unroll
        for (u32 i = 0; i < 4; ++i) {
            slab.quants[Slab::place(vector, half, i)] = quants.words.lane[i];
        }
        const i32 sum = sum_of(quants.words), both = sum + i32(shuffle_xor(u32(sum), 1));
        slab.half_sums[half % 2][unit / 2][vector / 2][unit % 2][vector % 2] = quants.scale * f32(sum);
        if (half % 2 == 0) {
            slab.scales[unit / 2][vector / 2][unit % 2][vector % 2] = quants.scale;
            slab.sums[unit / 2][vector / 2][unit % 2][vector % 2] = quants.scale * f32(both);
        }
    }
}

}  // namespace rk::quantized
