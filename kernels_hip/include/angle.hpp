// The angle of a point within a unit in the last place.
#pragma once

#include "power.hpp"

namespace rk {

// Of (atan(r) - r) / r^3 a fit in r^2 for |r| <= 1/4; the arc tangent of a half, and a right angle. Lengths beyond `longest`
// and below `shortest` are scaled and ratios below `flat` lifted, to where they still bend by nothing, so that no rest
// vanishes.
template <typename C>
struct AngleTerms;

template <>
struct AngleTerms<f32> {
    static constexpr f32 arc[] = {-0x1.555554p-2f, 0x1.9996dap-3f, -0x1.23b7b6p-3f, 0x1.9b19c2p-4f};
    static constexpr Twofold<f32> of_half = {0x1.dac67p-2f, 0x1.586ed4p-28f};
    static constexpr Twofold<f32> right = {0x1.921fb6p+0f, -0x1.777a5cp-25f};
    static constexpr f32 longest = 0x1p120f, down = 0x1p-8f;
    static constexpr f32 shortest = 0x1p-50f, up = 0x1p110f;
    static constexpr f32 flat = 0x1p-60f, lift = 0x1p45f;
};

template <>
struct AngleTerms<f64> {
    static constexpr f64 arc[] = {-0x1.5555555555555p-2, 0x1.9999999999992p-3,  -0x1.249249249153ep-3,
                                  0x1.c71c71c59911ap-4,  -0x1.745d16aa3d3dfp-4, 0x1.3b138d42ffb21p-4,
                                  -0x1.110bfca3ee1c4p-4, 0x1.e0fd38e21e504p-5,  -0x1.a2de7bac028cap-5,
                                  0x1.25d0a1c83f20ap-5};
    static constexpr Twofold<f64> of_half = {0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56};
    static constexpr Twofold<f64> right = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
    static constexpr f64 longest = 0x1p1000, down = 0x1p-60;
    static constexpr f64 shortest = 0x1p-500, up = 0x1p500;
    static constexpr f64 flat = 0x1p-400, lift = 0x1p300;
};

RK_DEVICE f32 halfway_reciprocal(f32 x) { return rough_reciprocal(x); }
RK_DEVICE f64 halfway_reciprocal(f64 x) {
    const f64 rough = rough_reciprocal(x);
    return fma(rough, fma(-x, rough, 1.0), rough);
}

// Special values as those of C's atan2. The ratio of the shorter to the longer leg is taken from 0, 1/2 or 1, where the
// arc tangent is known: atan(t) = atan(c) + atan((t - c) / (1 + c t)), with the quotient in twice the precision.
template <typename C>
RK_DEVICE C angle(C y, C x) {
    using Terms = AngleTerms<C>;
    constexpr C infinity = highest<C>();
    const bool is_steep = fabs(y) > fabs(x), is_left = copysign(C(1), x) < 0;
    C longer = is_steep ? fabs(y) : fabs(x), shorter = is_steep ? fabs(x) : fabs(y);
    if (longer == infinity || longer == 0) {
        shorter = shorter == infinity ? 1 : 0;
        longer = 1;
    }
    const C scale = longer > Terms::longest ? Terms::down : longer < Terms::shortest ? Terms::up : C(1);
    longer *= scale;
    shorter *= scale;
    const bool is_flat = shorter < longer * Terms::flat;
    const C center = rint(2 * shorter * rough_reciprocal(longer)) * C(0.5);
    shorter *= is_flat ? Terms::lift : C(1);

    const C above = fma(-center, longer, shorter), below = fma(center, shorter, longer);
    const C rest_of_below = fma(center, shorter, longer - below);
    const C reciprocal = halfway_reciprocal(below);
    const C quotient = above * reciprocal;
    const C rest = fma(-quotient, rest_of_below, fma(-quotient, below, above));
    const Twofold<C> r = twofold_sum(quotient, rest * reciprocal);
    const C z = r.hi * r.hi;
    const C bend = fma(r.hi * z, polynomial(Terms::arc, z), r.lo);

    const C base = center == 0 ? C(0) : center == 1 ? Terms::right.hi / 2 : Terms::of_half.hi;
    const C rest_of_base = center == 0 ? C(0) : center == 1 ? Terms::right.lo / 2 : Terms::of_half.lo;
    const Twofold<C> arc = twofold_sum(base, r.hi);
    const C way = (is_steep != is_left ? C(-1) : C(1)) * (is_flat ? 1 / Terms::lift : C(1));
    const C turns = is_steep ? C(1) : is_left ? C(2) : C(0);  // right angles
    const Twofold<C> sum = twofold_sum(turns * Terms::right.hi, way * arc.hi);
    const C rest_of_sum = fma(way, arc.lo + (rest_of_base + bend), fma(turns, Terms::right.lo, sum.lo));
    return x != x || y != y ? x + y : copysign(sum.hi + rest_of_sum, y);
}

}  // namespace rk
