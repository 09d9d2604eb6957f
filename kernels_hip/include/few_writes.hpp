// Few elements written in place and repeated, by one block.
#pragma once

#include "any_ids.hpp"
#include "running_sum.hpp"

namespace rk {

// Some axes of tensors: dims, then strides of one after another.
struct Axes {
    u64 num_dims;
    const u64 *info;

    RK_DEVICE const u64 *strides(u32 operand) const { return info + (1 + operand) * num_dims; }
    RK_DEVICE u64 offset(u64 i, u64 count, u32 operand) const {
        return strided_offset(i, count, num_dims, info, strides(operand));
    }
    RK_DEVICE Offsets<2> offsets(u64 i, u64 count) const {
        return strided_offsets<2>(i, count, num_dims, info, strides(0));
    }
};

constexpr u32 most_writes = 256;

// out takes values at indices of one axis, or of two, the last value where some lead to one place. `at` has the axes of
// the indices: strides of one, of the other, of the values; `rest` those of the `right` elements at each place: strides
// of out and of the values. Nothing is written where an index is outside.
template <typename Bits>
RK_DEVICE void write_at(u64 count, const Axes &at, u64 right, const Axes &rest, const AxisIds &one, const AxisIds &other,
                        const Bits *values, Bits *out) {
    __shared__ u64 places[most_writes];
    const bool are_two = other.ids.data != nullptr;
    const bool first_outside = one.has_outside(count, at.num_dims, at.info, at.strides(0));
    const bool second_outside = are_two && other.has_outside(count, at.num_dims, at.info, at.strides(1));
    if (first_outside || second_outside) {
        return;
    }
#pragma unroll 1
    for (u64 i = thread_x(); i < count; i += block_size_x()) {
        const Offsets<2> offsets = at.offsets(i, count);
        places[i] = one.place(offsets.of[0]) * one.step;
        if (are_two) {
            places[i] += other.place(offsets.of[1]) * other.step;
        }
    }
    barrier();
#pragma unroll 1
    for (u64 i = thread_x(); i < count * right; i += block_size_x()) {
        const u64 write = right == 1 ? i : divide(i, right, true);
        const u64 place = places[write];
        bool stays = true;
        for (u64 later = write + 1; later < count && stays; ++later) {
            stays = places[later] != place;
        }
        if (stays) {
            const Offsets<2> offsets = rest.offsets(i - write * right, right);
            out[place + offsets.of[0]] = values[at.offset(write, count, 2) + offsets.of[1]];
        }
    }
}

constexpr u64 any_number = ~u64(0);

// out takes values, a `step` apart, where a mask is true. `first` has the axes of the mask: strides of it and of out;
// `rest` those of the `right` elements at each place: strides of out and of the values. Where not as many as expected
// are true, nothing is written. Tells how many are.
template <typename Bits>
RK_DEVICE void write_true(u64 count, const Axes &first, u64 right, const Axes &rest, u64 expected, u64 step,
                          const u8 *mask, const Bits *values, Bits *out, u64 *total) {
    __shared__ u32 scratch[max_waves];
    const auto each_true = [&](auto visit) {
        u64 before = 0;
#pragma unroll 1
        for (u64 base = 0; base < count; base += block_size_x()) {
            const u64 i = base + thread_x();
            const Offsets<2> offsets = i < count ? first.offsets(i, count) : Offsets<2>{};
            const bool is_true = i < count && mask[offsets.of[0]] != 0;
            const Running<u32> sum = block_running_sum(is_true ? 1u : 0u, scratch);
            if (is_true) {
                visit(before + sum.before, offsets.of[1]);
            }
            before += sum.total;
        }
        return before;
    };
    if (expected != any_number) {
        const u64 found = each_true([](u64, u64) {});
        if (thread_x() == 0) {
            *total = found;
        }
        if (found != expected) {
            return;
        }
    }
    each_true([&](u64 number, u64 place) {
#pragma unroll 1
        for (u64 r = 0; r < right; ++r) {
            const Offsets<2> offsets = rest.offsets(r, right);
            out[place + offsets.of[0]] = values[number * step + offsets.of[1]];
        }
    });
}

// Each slice of x, (left, count, right), as often in a row as `times`, a `step` apart, says: out is (left, total, right).
template <typename Bits>
RK_DEVICE void repeat_each(u64 left, u64 count, u64 right, u64 total, const AnyIds &times, u64 step, const Bits *x,
                           Bits *out) {
    __shared__ u32 scratch[max_waves];
    u64 before = 0;
#pragma unroll 1
    for (u64 base = 0; base < count; base += block_size_x()) {
        const u64 i = base + thread_x();
        const u32 wanted = i < count ? static_cast<u32>(times.at(i * step)) : 0;
        const Running<u32> sum = block_running_sum(wanted, scratch);
        for (u64 l = 0; l < left; ++l) {
            for (u64 to = before + sum.before; to < before + sum.before + wanted; ++to) {
                for (u64 r = 0; r < right; ++r) {
                    out[(l * total + to) * right + r] = x[(l * count + i) * right + r];
                }
            }
        }
        before += sum.total;
    }
}

}  // namespace rk
