// Indices of any integer type, checked where they are used, by one block.
#pragma once

#include "id_status.hpp"
#include "index.hpp"
#include "reduce.hpp"

namespace rk {

// A branch a read, where a kernel for each type would be many.
struct AnyIds {
    const u8 *data;
    i32 type;  // bytes of an index, negative where it has a sign

    template <typename I>
    RK_DEVICE i64 read(u64 offset) const {
        return static_cast<i64>(reinterpret_cast<const I *>(data)[offset]);
    }
    RK_DEVICE i64 at(u64 offset) const {
        switch (type) {
            case -1:
                return read<i8>(offset);
            case -2:
                return read<i16>(offset);
            case -4:
                return read<i32>(offset);
            case 1:
                return read<u8>(offset);
            case 2:
                return read<u16>(offset);
            case 4:
                return read<u32>(offset);
            default:
                return read<i64>(offset);
        }
    }
    // Counted from the front; not below `bound` where it is outside -bound … bound-1.
    RK_DEVICE u64 place_of(i64 id, u64 bound) const {
        return static_cast<u64>(id) + (id < 0 && type < 0 ? bound : 0);
    }
    RK_DEVICE u64 place(u64 offset, u64 bound) const { return place_of(at(offset), bound); }
};

// Whether one of `count` indices is outside; tells of the first. Index number i lies at offset(i).
template <typename Offset>
RK_DEVICE bool report_outside(const AnyIds &ids, u64 count, u64 bound, IdStatus *status, Offset offset) {
    __shared__ u64 scratch[max_waves];
    u64 first = no_position;
#pragma unroll 1
    for (u64 i = thread_x(); i < count; i += block_size_x()) {
        first = i < first && ids.place(offset(i), bound) >= bound ? i : first;
    }
    if (block_size_x() <= wave_size && ballot(first != no_position) == 0) {
        return false;
    }
    first = block_reduce<Minimum<u64>>(first, scratch);
    if (thread_x() == 0 && first != no_position) {
        status->position = first;
        status->value = static_cast<u64>(ids.at(offset(first)));
    }
    return first != no_position;
}

// Indices of one axis of a tensor, `length` elements a `step` apart.
struct AxisIds {
    AnyIds ids;
    u64 length;
    u64 step;
    IdStatus *status;

    RK_DEVICE u64 place(u64 offset) const { return ids.place(offset, length); }
    // One for each element of dims, strides apart; those outside are told.
    RK_DEVICE bool has_outside(u64 count, u64 num_dims, const u64 *dims, const u64 *strides) const {
        return report_outside(ids, count, length, status,
                              [=](u64 i) { return strided_offset(i, count, num_dims, dims, strides); });
    }
};

}  // namespace rk
