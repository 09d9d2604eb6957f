// The loop of every elementwise kernel: out[i] = op(a[i], b[i], …) for any layout of the operands. Where all of them
// are contiguous or a broadcast scalar, a unit of work is one 16-byte pack, else one element; the odd end is elements.
// The host merges axes before a launch, so contiguous means a null info or one axis of stride 1, scalar one of stride 0.
#pragma once

#include "device.hpp"
#include "index.hpp"

namespace rk {

// What Candle passes ahead of the pointers. A null info means that every operand is contiguous.
struct Space {
    u64 numel;
    u64 num_dims;
    const u64 *info;

    RK_DEVICE const u64 *strides(u32 operand) const { return info + (1 + operand) * num_dims; }
};

// Elements of a pack shifted out at the low end and in at the high end: a rolled loop over registers.
template <typename T, u32 Width>
struct Shifter {
    using Bits = typename Unsigned<sizeof(T) * Width>::type;
    Bits bits;

    RK_DEVICE T pop() {
        const T element = bit_cast<T>(static_cast<bits_of<T>>(bits));
        if constexpr (Width > 1) {
            bits >>= 8 * sizeof(T);
        }
        return element;
    }
    RK_DEVICE void push(T element) {
        const Bits top = static_cast<Bits>(bit_cast<bits_of<T>>(element)) << (8 * sizeof(T) * (Width - 1));
        if constexpr (Width > 1) {
            bits = static_cast<Bits>(bits >> (8 * sizeof(T))) | top;
        } else {
            bits = top;
        }
    }
    RK_DEVICE T last() const {
        return bit_cast<T>(static_cast<bits_of<T>>(bits >> (8 * sizeof(T) * (Width - 1))));
    }
};

// Operand number K of a kernel.
template <typename T, u32 K>
struct Operand {
    using type = T;
    const T *data;
    bool contiguous;
    bool scalar;

    RK_DEVICE Operand(const Space &space, const T *data_)
        : data(data_),
          contiguous(space.info == nullptr || (space.num_dims == 1 && *space.strides(K) == 1)),
          scalar(!contiguous && space.num_dims == 1 && *space.strides(K) == 0) {}

    template <u32 Width>
    RK_DEVICE bool moves_in_packs() const {
        return scalar || (contiguous && is_aligned(data, Width * sizeof(T)));
    }
    template <u32 Width>
    RK_DEVICE Pack<T, Width> pack(u64 unit) const {
        if (!scalar) {
            return reinterpret_cast<const Pack<T, Width> *>(data)[unit];
        }
        Pack<T, Width> copies;
#pragma unroll
        for (T &copy : copies.lane) {
            copy = data[0];
        }
        return copies;
    }
    template <u32 Width>
    RK_DEVICE Shifter<T, Width> shifter(bool packed, u64 unit, u64 offset) const {
        using Bits = typename Shifter<T, Width>::Bits;
        if (packed) {
            return {bit_cast<Bits>(pack<Width>(unit))};
        }
        return {static_cast<Bits>(bit_cast<bits_of<T>>(data[offset]))};
    }
    template <u32 Operands>
    RK_DEVICE u64 choose_offset(bool direct, u64 i, const Offsets<Operands> &strided) const {
        return direct ? (scalar ? 0 : i) : strided.of[K];
    }
};

template <typename... T>
RK_DEVICE constexpr u32 pack_width() {
    u32 widest = 1;
    ((widest = sizeof(T) > widest ? sizeof(T) : widest), ...);
    return vector_bytes / widest;
}

template <typename Op, typename Out, u32 Width, typename... Shifters>
RK_DEVICE Shifter<Out, Width> roll(Op op, u32 count, Shifters... in) {
    Shifter<Out, Width> result = {};
#pragma unroll 1
    for (u32 j = 0; j < count; ++j) {
        result.push(op(in.pop()...));
    }
    return result;
}

template <typename Op, typename Out, u32 Width, typename... Packs>
RK_DEVICE Pack<Out, Width> unroll(Op op, const Packs &...in) {
    Pack<Out, Width> result;
#pragma unroll
    for (u32 j = 0; j < Width; ++j) {
        result.lane[j] = op(in.lane[j]...);
    }
    return result;
}

// A Light op of a few instructions is unrolled over the pack; any other has one body in a rolled loop, which keeps the
// code small and still outruns memory. Each element is read before it is written, so out may be an operand itself.
template <bool Light, typename Out, typename Op, typename... Operands>
RK_DEVICE void elementwise(const Space &space, Out *out, Op op, Operands... in) {
    constexpr u32 count = sizeof...(Operands);
    constexpr u32 width = pack_width<Out, typename Operands::type...>();
    const bool direct = ((in.contiguous || in.scalar) && ...);
    const bool packs = direct && is_aligned(out, width * sizeof(Out)) && (in.template moves_in_packs<width>() && ...);
    const u64 pack_units = packs ? space.numel / width : 0;
    const u64 units = space.numel - pack_units * (width - 1);
#pragma unroll 1
    for (u64 unit = global_thread(); unit < units; unit += global_threads()) {
        const bool packed = unit < pack_units;
        const u64 i = unit + pack_units * (width - 1);
        if constexpr (Light) {
            if (packed) {
                reinterpret_cast<Pack<Out, width> *>(out)[unit] =
                    unroll<Op, Out, width>(op, in.template pack<width>(unit)...);
                continue;
            }
        }
        Offsets<count> strided = {};
        if (!direct) {
            strided = strided_offsets<count>(i, space.numel, space.num_dims, space.info, space.strides(0));
        }
        if constexpr (Light) {
            out[i] = op(in.data[in.choose_offset(direct, i, strided)]...);
        } else {
            const auto result = roll<Op, Out, width>(
                op, packed ? width : 1,
                in.template shifter<width>(packed, unit, in.choose_offset(direct, i, strided))...);
            if (packed) {
                reinterpret_cast<Pack<Out, width> *>(out)[unit] = bit_cast<Pack<Out, width>>(result.bits);
            } else {
                out[i] = result.last();
            }
        }
    }
}

}  // namespace rk
