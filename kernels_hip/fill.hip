// fill: one value everywhere (fill), one value through a strided view (const_set), and a block of rows from one row
// stride to another (copy2d). Values move as bits, whatever they mean.
#include "include/device.hpp"
#include "include/index.hpp"

namespace rk {

template <typename Bits>
RK_DEVICE void fill(Bits *out, Bits value, u64 numel) {
    constexpr u32 width = vector_bytes / sizeof(Bits);
    Pack<Bits, width> values;
#pragma unroll
    for (Bits &lane : values.lane) {
        lane = value;
    }
    const u64 pack_units = is_aligned(out, vector_bytes) ? numel / width : 0;
    const u64 units = numel - pack_units * (width - 1);
#pragma unroll 1
    for (u64 unit = global_thread(); unit < units; unit += global_threads()) {
        if (unit < pack_units) {
            reinterpret_cast<Pack<Bits, width> *>(out)[unit] = values;
        } else {
            out[unit + pack_units * (width - 1)] = value;
        }
    }
}

template <typename Bits>
RK_DEVICE void const_set(u64 numel, u64 num_dims, const u64 *info, Bits value, Bits *out) {
    if (info == nullptr || (num_dims == 1 && info[1] == 1)) {
        fill(out, value, numel);
        return;
    }
#pragma unroll 1
    for (u64 i = global_thread(); i < numel; i += global_threads()) {
        out[strided_offset(i, numel, num_dims, info, info + num_dims)] = value;
    }
}

template <typename Bits>
RK_DEVICE void copy2d(const Bits *src, Bits *dst, u64 rows, u64 columns, u64 src_stride, u64 dst_stride) {
    constexpr u32 width = vector_bytes / sizeof(Bits);
    const bool packs = (columns | src_stride | dst_stride) % width == 0 && is_aligned(src, vector_bytes) &&
                       is_aligned(dst, vector_bytes);
    const u64 row_units = packs ? columns / width : columns;
    const u64 units = rows * row_units;
#pragma unroll 1
    for (u64 unit = global_thread(); unit < units; unit += global_threads()) {
        const u64 row = divide(unit, row_units, units <= 0xffffffffu);
        const u64 in_row = unit - row * row_units;
        if (packs) {
            const auto *from = reinterpret_cast<const FourWords *>(src + row * src_stride);
            reinterpret_cast<FourWords *>(dst + row * dst_stride)[in_row] = from[in_row];
        } else {
            dst[row * dst_stride + in_row] = src[row * src_stride + in_row];
        }
    }
}

#define FILL(T) \
    RK_KERNEL fill_##T(T *buf, T value, u64 numel) { fill(as_bits(buf), bit_cast<bits_of<T>>(value), numel); }

#define CONST_SET(T)                                                                             \
    RK_KERNEL const_set_##T(u64 numel, u64 num_dims, const u64 *info, T value, T *out) {         \
        const_set(numel, num_dims, info, bit_cast<bits_of<T>>(value), as_bits(out));             \
    }

#define COPY2D(T)                                                                                    \
    RK_KERNEL copy2d_##T(const T *src, T *dst, u32 d1, u32 d2, u32 src_stride, u32 dst_stride) {     \
        copy2d(as_bits(src), as_bits(dst), d1, d2, src_stride, dst_stride);                          \
    }

// Inside the namespace, so that a dtype's short name is its type.
#include "instances/fill.inc"

}  // namespace rk
