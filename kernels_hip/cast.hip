// cast: out = inp converted to another element type (convert.hpp has the rules); a type to itself copies bit for bit.
#include "include/convert.hpp"
#include "include/elementwise.hpp"
#include "include/transpose.hpp"

namespace rk {

template <typename D, typename S>
struct Cast {
    RK_DEVICE D operator()(S x) const { return convert<D>(x); }
};

// A change of nothing but the name: the bits stay.
template <typename D, typename S>
constexpr bool keeps_bits = is_same<D, S> || (is_integer<D> && is_integer<S> && sizeof(D) == sizeof(S));

// Conversions in software take dozens of instructions, and a pack of bytes has sixteen: one body in a rolled loop.
template <typename D, typename S>
constexpr bool is_light = !is_same<S, f8_e4m3> && !is_same<D, f8_e4m3> && (sizeof(D) > 1 || sizeof(S) > 1) &&
                          !(is_short_float<D> && (is_same<S, f64> || (is_integer<S> && sizeof(S) >= 4)));

template <typename D, typename S>
RK_DEVICE void cast(const Space &space, const S *inp, D *out) {
    if constexpr (keeps_bits<D, S>) {
        using Bits = bits_of<S>;
        const Operand<Bits, 0> bits(space, reinterpret_cast<const Bits *>(inp));
        elementwise<Weight::light>(space, reinterpret_cast<Bits *>(out), Cast<Bits, Bits>{}, bits);
    } else {
        constexpr Weight weight = is_light<D, S> ? Weight::light : Weight::heavy;
        elementwise<weight>(space, out, Cast<D, S>{}, Operand<S, 0>(space, inp));
    }
}

#define CAST(S, D)                                              \
    RK_KERNEL cast_##S##_##D(RK_LAYOUT, const S *inp, D *out) { \
        cast<D, S>({numel, num_dims, info}, inp, out);          \
    }

#define CAST_TILED(S, D)                                        \
    RK_KERNEL cast_##S##_##D(RK_LAYOUT, const S *inp, D *out) { \
        const Space space = {numel, num_dims, info};            \
        if (!transpose(space, inp, out, Cast<D, S>{})) {        \
            cast<D, S>(space, inp, out);                        \
        }                                                       \
    }

#include "instances/cast.inc"

}  // namespace rk
