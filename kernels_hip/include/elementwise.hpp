// The loop of every elementwise kernel: out[i] = op(a[i], b[i], …) for any layout of the operands. Where each of them
// has its rows, along the last axis, side by side in memory or all of one element, and packs fill the rows, a unit of
// work is a 16-byte pack, else one element; the odd end is elements. The host merges axes before a launch.
#pragma once

#include "device.hpp"
#include "index.hpp"

// The first three arguments, by the names that a Space is made of. What info points to is never written.
#define RK_LAYOUT u64 numel, u64 num_dims, const u64 *__restrict__ info

namespace rk {

// What Candle passes ahead of the pointers. A null info means that every operand is contiguous.
struct Space {
    u64 numel;
    u64 num_dims;
    const u64 *info;

    RK_DEVICE const u64 *strides(u32 operand) const { return info + (1 + operand) * num_dims; }

    // Of what is no larger than numel.
    RK_DEVICE u64 divide(u64 n, u64 divisor) const { return rk::divide(n, divisor, numel <= 0xffffffffu); }

    // Between neighbours along the last axis.
    RK_DEVICE u64 pitch(u32 operand) const {
        return info == nullptr || num_dims == 0 ? 1 : strides(operand)[num_dims - 1];
    }
    // Whether every row of the operand begins at a multiple of `width`, which then is the length of rows to be too.
    RK_DEVICE bool begins_rows_at_multiples(u32 operand, u32 width) const {
        u64 together = 0;
#pragma unroll 1
        for (u64 d = 0; d + 1 < num_dims; ++d) {
            together |= strides(operand)[d];
        }
        return together % width == 0;
    }
    RK_DEVICE bool has_rows_of_multiples(u32 width) const {
        return num_dims < 2 || info[num_dims - 1] % width == 0;
    }
    template <u32 Operands>
    RK_DEVICE Offsets<Operands> offsets(u64 i) const {
        if (info != nullptr) {
            return strided_offsets<Operands>(i, numel, num_dims, info, strides(0));
        }
        Offsets<Operands> same;
#pragma unroll
        for (u64 &offset : same.of) {
            offset = i;
        }
        return same;
    }
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
    static constexpr u32 index = K;
    const T *data;
    u64 pitch;

    RK_DEVICE Operand(const Space &space, const T *data_) : data(data_), pitch(space.pitch(K)) {}

    template <u32 Width>
    RK_DEVICE bool is_aligned_to_packs() const {
        return is_aligned(data, Width * sizeof(T));
    }
    template <u32 Width>
    RK_DEVICE bool has_rows_of_packs(const Space &space) const {
        return pitch == 0 ||
               (pitch == 1 && is_aligned_to_packs<Width>() && space.begins_rows_at_multiples(K, Width));
    }
    template <u32 Width>
    RK_DEVICE Pack<T, Width> pack(u64 offset) const {
        if (pitch != 0) {
            return *reinterpret_cast<const Pack<T, Width> *>(data + offset);
        }
        Pack<T, Width> copies;
#pragma unroll
        for (T &copy : copies.lane) {
            copy = data[offset];
        }
        return copies;
    }
    template <u32 Width>
    RK_DEVICE Shifter<T, Width> shifter(bool packed, u64 offset) const {
        using Bits = typename Shifter<T, Width>::Bits;
        if (packed) {
            return {bit_cast<Bits>(pack<Width>(offset))};
        }
        return {static_cast<Bits>(bit_cast<bits_of<T>>(data[offset]))};
    }
};

// The packs of an operand that a thread has asked for before it uses the first.
template <typename T, u32 Width, u32 Count>
struct InFlight {
    Pack<T, Width> pack[Count];

    RK_DEVICE InFlight(const T *data, u64 step, u32 valid) {
#pragma unroll
        for (u32 f = 0; f < Count; ++f) {
            if (f < valid) {
                pack[f] = *reinterpret_cast<const Pack<T, Width> *>(data + f * step);
            }
        }
    }
    // The next one comes to the front: a rolled loop over registers.
    RK_DEVICE void turn() {
        const Pack<T, Width> first = pack[0];
#pragma unroll
        for (u32 f = 1; f < Count; ++f) {
            pack[f - 1] = pack[f];
        }
        pack[Count - 1] = first;
    }
};

template <typename... T>
RK_DEVICE constexpr u32 pack_width() {
    u32 widest = 1;
    ((widest = sizeof(T) > widest ? sizeof(T) : widest), ...);
    return vector_bytes / widest;
}

// How much code an element takes. A pack of light and of medium functions is unrolled; so are a thread's packs of light
// ones. Heavy ones have one body in a loop over elements, which keeps the code small.
enum class Weight : u32 { light, medium, heavy };

struct Light {
    static constexpr Weight weight = Weight::light;
};
struct Medium {
    static constexpr Weight weight = Weight::medium;
};
struct Heavy {
    static constexpr Weight weight = Weight::heavy;
};

// Software conversion makes every function of f8 heavy; what is medium in f32 is heavy in f64 and for integers.
template <typename Op, typename T>
constexpr Weight weight_of =
    is_same<T, f8_e4m3> || (Op::weight == Weight::medium && !(is_float<T> && sizeof(T) <= sizeof(f32)))
        ? Weight::heavy
        : Op::weight;

// What a thread has under way: two loads, of one operand or of more.
template <u32 Operands>
constexpr u32 packs_in_flight = Operands == 1 ? 2 : 1;

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

template <Weight weight, typename Out, u32 Width, u32 Count, typename Op, typename... Flights>
RK_DEVICE void compute(Out *out, u64 step, u32 valid, Op op, Flights... in) {
    if constexpr (weight == Weight::light) {
#pragma unroll
        for (u32 f = 0; f < Count; ++f) {
            if (f < valid) {
                *reinterpret_cast<Pack<Out, Width> *>(out + f * step) = unroll<Op, Out, Width>(op, in.pack[f]...);
            }
        }
    } else {
#pragma unroll 1
        for (u32 f = 0; f < valid; ++f) {
            *reinterpret_cast<Pack<Out, Width> *>(out + f * step) = unroll<Op, Out, Width>(op, in.pack[0]...);
            (in.turn(), ...);
        }
    }
}

template <Weight weight, typename Out, typename Op, typename... Operands>
RK_DEVICE void contiguous_packs(u64 units, Out *out, Op op, Operands... in) {
    constexpr u32 width = pack_width<Out, typename Operands::type...>();
    constexpr u32 count = packs_in_flight<sizeof...(Operands)>;
    const u64 step = block_size_x();
#pragma unroll 1
    for (u64 first = block_x() * step * count + thread_x(); first < units; first += grid_x() * step * count) {
        u32 valid = 0;
#pragma unroll
        for (u32 f = 0; f < count; ++f) {
            valid += first + f * step < units;
        }
        compute<weight, Out, width, count>(
            out + first * width, step * width, valid, op,
            InFlight<typename Operands::type, width, count>(in.data + first * width, step * width, valid)...);
    }
}

template <typename Out, typename Op, typename... Operands>
RK_DEVICE void strided_packs(const Space &space, u64 units, Out *out, Op op, Operands... in) {
    constexpr u32 width = pack_width<Out, typename Operands::type...>();
#pragma unroll 1
    for (u64 unit = global_thread(); unit < units; unit += global_threads()) {
        const auto offsets = space.template offsets<sizeof...(Operands)>(unit * width);
        *reinterpret_cast<Pack<Out, width> *>(out + unit * width) =
            unroll<Op, Out, width>(op, in.template pack<width>(offsets.of[Operands::index])...);
    }
}

template <typename Out, typename Op, typename... Operands>
RK_DEVICE void elements(const Space &space, u64 first, Out *out, Op op, Operands... in) {
#pragma unroll 1
    for (u64 i = first + global_thread(); i < space.numel; i += global_threads()) {
        const auto offsets = space.template offsets<sizeof...(Operands)>(i);
        out[i] = op(in.data[offsets.of[Operands::index]]...);
    }
}

// Packs and elements by one body.
template <typename Out, typename Op, typename... Operands>
RK_DEVICE void rolled(const Space &space, u64 pack_units, Out *out, Op op, Operands... in) {
    constexpr u32 operands = sizeof...(Operands);
    constexpr u32 width = pack_width<Out, typename Operands::type...>();
    const u64 units = space.numel - pack_units * (width - 1);
#pragma unroll 1
    for (u64 unit = global_thread(); unit < units; unit += global_threads()) {
        const bool packed = unit < pack_units;
        const u64 i = packed ? unit * width : unit + pack_units * (width - 1);
        const Offsets<operands> offsets = space.template offsets<operands>(i);
        const auto result = roll<Op, Out, width>(op, packed ? width : 1,
                                                 in.template shifter<width>(packed, offsets.of[Operands::index])...);
        if (packed) {
            *reinterpret_cast<Pack<Out, width> *>(out + i) = bit_cast<Pack<Out, width>>(result.bits);
        } else {
            out[i] = result.last();
        }
    }
}

// Each element is read before it is written, so out may be an operand itself.
template <Weight weight, typename Out, typename Op, typename... Operands>
RK_DEVICE void elementwise(const Space &space, Out *out, Op op, Operands... in) {
    constexpr u32 width = pack_width<Out, typename Operands::type...>();
    const bool contiguous = space.info == nullptr;
    const bool packs =
        is_aligned(out, width * sizeof(Out)) &&
        (contiguous ? (in.template is_aligned_to_packs<width>() && ...)
                    : space.has_rows_of_multiples(width) && (in.template has_rows_of_packs<width>(space) && ...));
    const u64 units = packs ? space.numel / width : 0;
    if constexpr (weight == Weight::heavy) {
        rolled(space, units, out, op, in...);
    } else {
        if (contiguous) {
            contiguous_packs<weight>(units, out, op, in...);
        } else {
            strided_packs(space, units, out, op, in...);
        }
        elements(space, units * width, out, op, in...);
    }
}

}  // namespace rk
