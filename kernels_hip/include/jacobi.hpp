// Plane rotations that make pairs of columns orthogonal: what the eigenvalues of Hermitian matrices and the singular
// values share. n columns meet pairwise in n - 1 steps of n / 2 pairs, which no column shares.
#pragma once

#include "numbers.hpp"
#include "team.hpp"

namespace rk {

constexpr u32 most_sweeps = 40;  // ten are many for any matrix

struct Pair {
    u32 p;
    u32 q;
};

// The k-th pair of a step of a tournament between n columns, n even: one stays in place, the others turn.
RK_DEVICE Pair pair_of(u32 k, u32 step, u32 n) {
    const u32 ring = n - 1;
    const u32 above = step + k, below = step + ring - k;
    return {k == 0 ? ring : above < ring ? above : above - ring, below < ring ? below : below - ring};
}

// J = [[c, s], [-conj(s), c]], of the cosine only what it lacks of 1: a small angle's would round to 1, and columns that
// many such rotations touch would lose their length.
template <typename T>
struct Rotation {
    real_of<T> lacking;
    T s;
};

// The rotation by which J^H·[[a, b], [conj(b), d]]·J is diagonal, of the smaller of the two angles. `size` is |b| > 0.
template <typename T>
RK_DEVICE Rotation<T> diagonalizing(real_of<T> a, T b, real_of<T> d, real_of<T> size, real_of<T> &tangent) {
    using F = real_of<T>;
    const F ratio = (d - a) / (2 * size);
    tangent = copysign(F(1), ratio) / (fabs(ratio) + sqrt(1 + ratio * ratio));
    const F c = 1 / sqrt(1 + tangent * tangent), sine = tangent * c;
    return {sine * sine / (1 + c), times_real(b, sine / size)};
}

// x times 1 − lacking.
template <typename T>
RK_DEVICE T shortened(T x, real_of<T> lacking) {
    if constexpr (is_complex<T>) {
        return {fma(-lacking, x.re, x.re), fma(-lacking, x.im, x.im)};
    } else {
        return fma(-lacking, x, x);
    }
}

// The pair of columns times J.
template <typename T>
RK_DEVICE void rotate(Rotation<T> by, T &x, T &y) {
    const T first = minus_product(shortened(x, by.lacking), conjugate(by.s), y);
    y = plus_product(shortened(y, by.lacking), by.s, x);
    x = first;
}

// The same of columns that lie as rows in memory, by a team's lanes.
template <typename T>
RK_DEVICE void rotate_lines(Rotation<T> by, T *x, T *y, u32 length, const Team &team) {
    for (u32 i = team.rank; i < length; i += team.width) {
        rotate(by, x[i], y[i]);
    }
}

}  // namespace rk
