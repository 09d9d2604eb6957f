// Discrete Fourier transforms of lines that a block's LDS holds. A line is transformed by stages of small factors
// (Stockham: in natural order at both ends), read from and written to any stride. Longer lines take several passes, each
// over lines of a factor of their length; lengths with a large prime factor are convolutions of a longer transform
// (Bluestein), whose factors the same loads and stores multiply. An even number of real elements is transformed as half
// as many complex ones, from whose spectrum theirs is worked out. Everything here runs forwards: an inverse transform is
// the conjugate of a transform of conjugates.
#pragma once

#include "complex.hpp"
#include "gemm_parts.hpp"
#include "index.hpp"

namespace rk {

// exp(-2πi·n/d) for n < d: the fraction stays exact until an eighth of a turn is left of it.
RK_DEVICE c128 root_of_unity(u64 n, u64 d) {
    const u64 eighths = 8 * n / d;
    const u64 rest = 8 * n - eighths * d;
    const f64 x = static_cast<f64>((eighths & 1) != 0 ? d - rest : rest) / static_cast<f64>(d) * (half_pi / 2);
    f64 sine = 1, cosine = 1;
#pragma unroll
    for (u32 k = 8; k > 0; --k) {
        sine = 1 - x * x * sine * (1.0 / (2 * k * (2 * k + 1)));
        cosine = 1 - x * x * cosine * (1.0 / ((2 * k - 1) * 2 * k));
    }
    sine *= x;
    const bool swapped = ((eighths + 1) & 2) != 0;
    const f64 re = swapped ? sine : cosine, im = swapped ? cosine : sine;
    return {((eighths + 2) & 4) != 0 ? -re : re, (eighths & 4) != 0 ? im : -im};
}

template <typename F>
RK_DEVICE Complex<F> plus(Complex<F> x, Complex<F> y) {
    return {x.re + y.re, x.im + y.im};
}
template <typename F>
RK_DEVICE Complex<F> minus(Complex<F> x, Complex<F> y) {
    return {x.re - y.re, x.im - y.im};
}
template <typename F>
RK_DEVICE Complex<F> times(Complex<F> x, Complex<F> y) {
    return {fma(x.re, y.re, -(x.im * y.im)), fma(x.re, y.im, x.im * y.re)};
}
template <typename F>
RK_DEVICE Complex<F> conjugate(Complex<F> x, bool wanted = true) {
    return {x.re, wanted ? -x.im : x.im};
}
// x / i
template <typename F>
RK_DEVICE Complex<F> turned(Complex<F> x) {
    return {x.im, -x.re};
}

template <typename Z>
RK_DEVICE void transform(Z (&v)[2]) {
    const Z x = v[0];
    v[0] = plus(x, v[1]);
    v[1] = minus(x, v[1]);
}

template <typename Z>
RK_DEVICE void transform(Z (&v)[4]) {
    const Z a = plus(v[0], v[2]), b = minus(v[0], v[2]);
    const Z c = plus(v[1], v[3]), d = turned(minus(v[1], v[3]));
    v[0] = plus(a, c);
    v[1] = plus(b, d);
    v[2] = minus(a, c);
    v[3] = minus(b, d);
}

template <typename Z>
RK_DEVICE void transform(Z (&v)[8]) {
    using F = typename Z::Part;
    constexpr F half = static_cast<F>(0x1.6a09e667f3bcdp-1);  // √½
    Z even[4] = {v[0], v[2], v[4], v[6]};
    Z odd[4] = {v[1], v[3], v[5], v[7]};
    transform(even);
    transform(odd);
    odd[1] = {(odd[1].re + odd[1].im) * half, (odd[1].im - odd[1].re) * half};
    odd[2] = turned(odd[2]);
    odd[3] = {(odd[3].im - odd[3].re) * half, -(odd[3].re + odd[3].im) * half};
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
        v[k] = plus(even[k], odd[k]);
        v[k + 4] = minus(even[k], odd[k]);
    }
}

// An odd prime: elements k and R-k share their cosines, and their sines but for the sign.
template <u32 R, typename Z>
RK_DEVICE void transform(Z (&v)[R]) {
    using F = typename Z::Part;
    constexpr u32 half = R / 2;
    Z sum[half], difference[half];
    const Z first = v[0];
#pragma unroll
    for (u32 j = 0; j < half; ++j) {
        sum[j] = plus(v[j + 1], v[R - 1 - j]);
        difference[j] = minus(v[j + 1], v[R - 1 - j]);
        v[0] = plus(v[0], sum[j]);
    }
#pragma unroll
    for (u32 k = 1; k <= half; ++k) {
        Z even = first, odd = {0, 0};
#pragma unroll
        for (u32 j = 0; j < half; ++j) {
            const c128 root = root_of_unity((j + 1) * k % R, R);
            const F cosine = static_cast<F>(root.re), sine = static_cast<F>(-root.im);
            even = {fma(cosine, sum[j].re, even.re), fma(cosine, sum[j].im, even.im)};
            odd = {fma(sine, difference[j].re, odd.re), fma(sine, difference[j].im, odd.im)};
        }
        v[k] = plus(even, turned(odd));
        v[R - k] = minus(even, turned(odd));
    }
}

// The block's size, and how many elements it transforms at most: a launch plan knows these too.
constexpr u32 fft_points = 8;  // of a thread
constexpr u32 fft_most_lines = 128;
template <typename F>
constexpr u32 fft_block_size = sizeof(F) == 8 ? 128 : 256;
template <typename F>
constexpr u32 fft_capacity = fft_points * fft_block_size<F>;

// Where an element of a line lies in LDS: elements a power of two apart lie in different banks.
RK_DEVICE u32 skewed(u32 i) { return i + (i >> 4); }

// floor(n / divisor) of numbers up to 2048 each: half of 1/divisor is more than the reciprocal's error makes.
struct SmallDivisor {
    u32 divisor;
    f32 inverse;
    RK_DEVICE explicit SmallDivisor(u32 d) : divisor(d), inverse(rough_reciprocal(static_cast<f32>(d))) {}
    RK_DEVICE u32 quotient(u32 n) const { return static_cast<u32>((static_cast<f32>(n) + 0.5f) * inverse); }
};

// One end of a pass. Element i of the line (row, u, v) is element u·by_u + v·by_v + i·by_i of its row; of those, what is
// not below `limit` reads as zero and is not written. Adjacent threads take adjacent lines, or elements of one.
struct FftEnd {
    i64 stride;
    u32 by_u;
    u32 by_v;
    u32 by_i;
    u32 limit;
    bool by_lines;
    bool is_real;
    bool is_conjugate;
    RK_DEVICE explicit FftEnd(const u64 *words)
        : stride(static_cast<i64>(words[0])),
          by_u(static_cast<u32>(words[1])),
          by_v(static_cast<u32>(words[2])),
          by_i(static_cast<u32>(words[3])),
          limit(static_cast<u32>(words[4])),
          by_lines((words[5] & 1) != 0),
          is_real((words[5] & 2) != 0),
          is_conjugate((words[5] & 4) != 0) {}
};

// What a pass does, as a launch plan writes it down: these words, then the rows' dims, strides at the source and strides
// at the result.
struct FftPass {
    u32 n;        // of the lines, the product of the hexadecimal digits of `factors`
    u32 pitch;    // of lines in LDS
    u32 lines;    // that a block holds
    u32 us;       // lines of a row are us × vs
    u32 vs;
    u32 full;     // elements of a whole row; a Hermitian one's source holds the first half
    u32 shift;    // bits that index the fine table of twiddles
    bool is_hermitian;
    bool has_conjugate_factor;
    bool is_halved;  // pairs of real elements are complex ones of the lines
    u64 factors;
    u64 rows;
    u64 num_dims;
    const u64 *dims;
    static constexpr u32 words = 24;
    RK_DEVICE explicit FftPass(const u64 *plan)
        : n(static_cast<u32>(plan[0])),
          pitch(static_cast<u32>(plan[1])),
          lines(static_cast<u32>(plan[2])),
          us(static_cast<u32>(plan[3])),
          vs(static_cast<u32>(plan[4])),
          full(static_cast<u32>(plan[5])),
          shift(static_cast<u32>(plan[6])),
          is_hermitian((plan[7] & 1) != 0),
          has_conjugate_factor((plan[7] & 2) != 0),
          is_halved((plan[7] & 4) != 0),
          factors(plan[8]),
          rows(plan[9]),
          num_dims(plan[10]),
          dims(plan + words) {}
};

template <typename F>
struct FftLds {
    struct Line {
        u64 source;
        u64 result;
        u32 first_in;
        u32 first_out;
        u32 v;
    };
    Complex<F> element[fft_capacity<F> + fft_capacity<F> / 16];
    Line line[fft_most_lines];
};

// An element of a table of less than 4 GiB: AMD GPUs add 32 bits to an address in the load itself.
template <typename T>
RK_DEVICE T at_byte(const T *table, u32 offset) {
    return *reinterpret_cast<const T *>(reinterpret_cast<const u8 *>(table) + offset);
}

// A stage of factor R behind stages whose factors' product is `done`.
template <u32 R, typename F>
RK_DEVICE void fft_stage(FftLds<F> &lds, const FftPass &pass, u32 lines, u32 done, const Complex<F> *roots) {
    constexpr u32 mine = (fft_capacity<F> / R + fft_block_size<F> - 1) / fft_block_size<F>;
    const u32 self = apart(thread_x());  // or the places of all stages are worked out once and kept
    const u32 each = static_cast<u32>(afresh(pass.n)) / R;
    const SmallDivisor per_line(each), per_group(done);
    Complex<F> v[mine][R];
    u32 target[mine];
#pragma unroll
    for (u32 c = 0; c < mine; ++c) {
        const u32 b = self + c * fft_block_size<F>;
        const u32 line = per_line.quotient(b < lines * each ? b : 0);
        const u32 i = (b < lines * each ? b : 0) - line * each;
        const u32 q = i - per_group.quotient(i) * done;
        target[c] = line << 16 | ((i - q) * R + q);
#pragma unroll
        for (u32 k = 0; k < R; ++k) {
            v[c][k] = lds.element[line * pass.pitch + skewed(i + k * each)];
        }
        if (done > 1) {
#pragma unroll
            for (u32 k = 1; k < R; ++k) {
                v[c][k] = times(v[c][k], at_byte(roots, (q + done * k - 1) * sizeof(Complex<F>)));
            }
        }
        transform(v[c]);
    }
    barrier();
#pragma unroll
    for (u32 c = 0; c < mine; ++c) {
        if (self + c * fft_block_size<F> < lines * each) {
            const u32 start = (target[c] >> 16) * pass.pitch, i = target[c] & 0xffffu;
#pragma unroll
            for (u32 k = 0; k < R; ++k) {
                lds.element[start + skewed(i + k * done)] = v[c][k];
            }
        }
    }
    barrier();
}

template <typename F>
RK_DEVICE void fft_stages(FftLds<F> &lds, const FftPass &pass, u32 lines, const Complex<F> *roots) {
    u32 done = 1;
#pragma unroll 1
    for (u64 left = pass.factors; left != 0; left >>= 4) {
        const u32 factor = static_cast<u32>(left & 15);
        switch (factor) {
            case 2: fft_stage<2>(lds, pass, lines, done, roots); break;
            case 3: fft_stage<3>(lds, pass, lines, done, roots); break;
            case 4: fft_stage<4>(lds, pass, lines, done, roots); break;
            case 5: fft_stage<5>(lds, pass, lines, done, roots); break;
            case 7: fft_stage<7>(lds, pass, lines, done, roots); break;
            case 8: fft_stage<8>(lds, pass, lines, done, roots); break;
            case 11: fft_stage<11>(lds, pass, lines, done, roots); break;
            default: fft_stage<13>(lds, pass, lines, done, roots); break;
        }
        done *= factor;
    }
}

// The elements of lines, as threads take them at either end of a pass: `parts` at a time, `each` apart in one line.
struct FftSpread {
    u32 parts;
    u32 each;
    u32 count;
    bool by_lines;
    SmallDivisor along;
    RK_DEVICE FftSpread(const FftPass &pass, u32 lines, bool by_lines_)
        : parts(pass.factors != 0 ? static_cast<u32>(pass.factors & 15) : 1),
          each(SmallDivisor(parts).quotient(pass.n)),
          count(lines * each),
          by_lines(by_lines_),
          along(by_lines_ ? lines : each) {}
};
struct FftPlace {
    u32 line;
    u32 i;
    RK_DEVICE FftPlace(u32 number, const SmallDivisor &along, bool by_lines) {
        const u32 quotient = along.quotient(number);
        const u32 rest = number - quotient * along.divisor;
        line = by_lines ? rest : quotient;
        i = by_lines ? quotient : rest;
    }
    RK_DEVICE FftPlace(u32 number, const FftSpread &spread) : FftPlace(number, spread.along, spread.by_lines) {}
};

template <typename F>
RK_DEVICE Complex<F> fft_read(const F *src, u64 offset, bool is_real) {
    if (is_real) {
        return {src[offset], 0};
    }
    return reinterpret_cast<const Complex<F> *>(src)[offset];
}

template <typename F>
RK_DEVICE void fft_load(FftLds<F> &lds, const FftPass &pass, const FftEnd &end, u32 lines, const F *src,
                        const Complex<F> *factor) {
    constexpr u32 batch = 4;  // loads in flight
    const FftSpread spread(pass, lines, end.by_lines);
#pragma unroll 1
    for (u32 number = thread_x(); number < spread.count; number += fft_block_size<F>) {
        FftPlace at(number, spread);
        const u64 row = lds.line[at.line].source;
        const u32 step = spread.each * end.by_i;
        u32 position = lds.line[at.line].first_in + at.i * end.by_i;
        Complex<F> *line = lds.element + at.line * pass.pitch;
#pragma unroll 1
        for (u32 k = 0; k < spread.parts; k += batch) {
            Complex<F> z[batch];
            bool inside[batch];
#pragma unroll
            for (u32 j = 0; j < batch; ++j) {
                const u32 p = k + j < spread.parts ? position + j * step : position;
                u32 from = p;
                bool conjugated = end.is_conjugate;
                if (pass.is_hermitian) {
                    const bool mirrored = p > pass.full - p;
                    from = mirrored ? pass.full - p : p;
                    conjugated = conjugated != mirrored;
                }
                if (pass.is_halved) {
                    const F *pair = src + row + static_cast<u64>(static_cast<i64>(p) * 2 * end.stride);
                    inside[j] = 2 * p < end.limit;
                    z[j] = {inside[j] ? *pair : 0, 2 * p + 1 < end.limit ? pair[end.stride] : 0};
                    continue;
                }
                inside[j] = p < pass.full && from < end.limit;
                const i64 offset = static_cast<i64>(inside[j] ? from : 0) * end.stride;
                z[j] = conjugate(fft_read(src, row + static_cast<u64>(offset), end.is_real), conjugated);
                if (pass.is_hermitian && (p == 0 || 2 * p == pass.full)) {
                    z[j].im = 0;
                }
            }
#pragma unroll
            for (u32 j = 0; j < batch; ++j) {
                if (k + j < spread.parts) {
                    if (factor != nullptr && inside[j]) {
                        z[j] = times(z[j], factor[position + j * step]);
                    }
                    line[skewed(at.i + j * spread.each)] = inside[j] ? z[j] : Complex<F>{0, 0};
                }
            }
            position += batch * step;
            at.i += batch * spread.each;
        }
    }
}

// The spectrum of pairs from the first half of that of their elements; `roots` are those of the whole row.
template <typename F>
RK_DEVICE void fft_load_half(FftLds<F> &lds, const FftPass &pass, const FftEnd &end, u32 lines, const F *src,
                             const Complex<F> *roots) {
    const u32 each = pass.n / 2 + 1;
    const SmallDivisor along(end.by_lines ? lines : each);
#pragma unroll 1
    for (u32 number = thread_x(); number < lines * each; number += fft_block_size<F>) {
        const FftPlace at(number, along, end.by_lines);
        const u64 row = lds.line[at.line].source;
        const u32 k[2] = {at.i, pass.n - at.i};
        Complex<F> z[2];
#pragma unroll
        for (u32 j = 0; j < 2; ++j) {
            const i64 offset = static_cast<i64>(k[j] < end.limit ? k[j] : 0) * end.stride;
            z[j] = conjugate(fft_read(src, row + static_cast<u64>(offset), end.is_real), end.is_conjugate != (j == 1));
            z[j] = {k[j] < end.limit ? z[j].re : 0, k[j] < end.limit && k[0] != 0 ? z[j].im : 0};
        }
        const Complex<F> even = plus(z[0], z[1]), odd = turned(times(minus(z[0], z[1]), roots[k[0]]));
        Complex<F> *line = lds.element + at.line * pass.pitch;
        line[skewed(k[0])] = minus(even, odd);
        if (k[0] != 0) {
            line[skewed(k[1])] = conjugate(plus(even, odd));
        }
    }
}

// The opposite.
template <typename F>
RK_DEVICE void fft_store_half(const FftLds<F> &lds, const FftPass &pass, const FftEnd &end, u32 lines, F *dst,
                              F scale, const Complex<F> *roots) {
    const u32 each = pass.n / 2 + 1;
    const SmallDivisor along(end.by_lines ? lines : each);
#pragma unroll 1
    for (u32 number = thread_x(); number < lines * each; number += fft_block_size<F>) {
        const FftPlace at(number, along, end.by_lines);
        const Complex<F> *line = lds.element + at.line * pass.pitch;
        const u32 k[2] = {at.i, pass.n - at.i};
        const Complex<F> x = line[skewed(k[0])], y = conjugate(line[skewed(k[0] != 0 ? k[1] : 0)]);
        const Complex<F> even = plus(x, y), odd = times(turned(minus(x, y)), roots[k[0]]);
        const Complex<F> found[2] = {plus(even, odd), conjugate(minus(even, odd))};
#pragma unroll
        for (u32 j = 0; j < 2; ++j) {
            const u64 offset = lds.line[at.line].result + static_cast<u64>(static_cast<i64>(k[j]) * end.stride);
            const Complex<F> z = conjugate(found[j], end.is_conjugate);
            reinterpret_cast<Complex<F> *>(dst)[offset] = {z.re * (scale / 2), z.im * (scale / 2)};
        }
    }
}

template <typename F>
RK_DEVICE void fft_between(FftLds<F> &lds, const FftPass &pass, u32 lines, const Complex<F> *factor) {
    const FftSpread spread(pass, lines, false);
#pragma unroll 1
    for (u32 number = thread_x(); number < spread.count; number += fft_block_size<F>) {
        FftPlace at(number, spread);
#pragma unroll 1
        for (u32 k = 0; k < spread.parts; ++k) {
            Complex<F> &z = lds.element[at.line * pass.pitch + skewed(at.i)];
            z = conjugate(times(z, factor[at.i]));
            at.i += spread.each;
        }
    }
    barrier();
}

template <typename F>
RK_DEVICE void fft_store(const FftLds<F> &lds, const FftPass &pass, const FftEnd &end, u32 lines, F *dst, F scale,
                         const Complex<F> *factor, const Complex<F> *coarse, const Complex<F> *fine) {
    const FftSpread spread(pass, lines, end.by_lines);
    const i64 stride = pass.is_halved ? 2 * end.stride : end.stride;
#pragma unroll 1
    for (u32 number = thread_x(); number < spread.count; number += fft_block_size<F>) {
        FftPlace at(number, spread);
        const u32 v = lds.line[at.line].v;
        u32 position = lds.line[at.line].first_out + at.i * end.by_i;
        u64 offset = lds.line[at.line].result + static_cast<u64>(static_cast<i64>(position) * stride);
        const u32 step = spread.each * end.by_i;
        const Complex<F> *line = lds.element + at.line * pass.pitch;
#pragma unroll 1
        for (u32 k = 0; k < spread.parts && position < end.limit; ++k) {
            Complex<F> z = line[skewed(at.i)];
            if (factor != nullptr) {
                z = times(z, conjugate(factor[position], pass.has_conjugate_factor));
            }
            if (fine != nullptr) {
                const u32 turn = v * at.i;
                z = times(z, times(coarse[turn >> pass.shift], fine[turn & ((1u << pass.shift) - 1)]));
            }
            if (end.is_real) {
                dst[offset] = z.re * scale;
                if (pass.is_halved) {
                    dst[offset + static_cast<u64>(end.stride)] = z.im * scale;
                }
            } else {
                const F im = end.is_conjugate ? -z.im : z.im;
                reinterpret_cast<Complex<F> *>(dst)[offset] = {z.re * scale, im * scale};
            }
            at.i += spread.each;
            position += step;
            offset += static_cast<u64>(static_cast<i64>(step) * stride);
        }
    }
}

// Transforms lines as the plan says. `load_factor` and `store_factor` hold a number for each element of a row,
// `between` one for each of a line: with it lines are transformed, multiplied, conjugated and transformed again.
// `coarse` and `fine` make up the twiddles from one pass to the next; where rows are halved, `coarse` holds their roots.
template <typename F>
RK_DEVICE void fft_lines(const F *src, F *dst, const u64 *plan, f64 scale, const Complex<F> *roots,
                         const Complex<F> *load_factor, const Complex<F> *between, const Complex<F> *store_factor,
                         const Complex<F> *coarse, const Complex<F> *fine) {
    __shared__ FftLds<F> lds;
    const FftPass pass(plan);
    const FftEnd in(plan + 12), out(plan + 18);
    const u64 inner = static_cast<u64>(pass.us) * pass.vs, every = pass.rows * inner;
    const u64 step = static_cast<u64>(grid_x()) * pass.lines;
#pragma unroll 1
    for (u64 first = static_cast<u64>(block_x()) * pass.lines; first < every; first += step) {
        const u32 lines = every - first < pass.lines ? static_cast<u32>(every - first) : pass.lines;
        barrier();
        if (thread_x() < lines) {
            const u64 number = first + thread_x();
            const u64 row = divide(number, inner);
            const u32 rest = static_cast<u32>(number - row * inner);
            const u32 u = rest / pass.vs, v = rest - u * pass.vs;
            const auto offsets =
                strided_offsets<2>(row, pass.rows, pass.num_dims, pass.dims, pass.dims + pass.num_dims);
            lds.line[thread_x()] = {offsets.of[0], offsets.of[1], u * in.by_u + v * in.by_v,
                                    u * out.by_u + v * out.by_v, v};
        }
        barrier();
        if (pass.is_halved && pass.is_hermitian) {
            fft_load_half(lds, pass, in, lines, src, coarse);
        } else {
            fft_load(lds, pass, in, lines, src, load_factor);
        }
        barrier();
#pragma unroll 1
        for (u32 left = between != nullptr ? 2 : 1; left > 0; --left) {
            fft_stages(lds, pass, lines, roots);
            if (left == 2) {
                fft_between(lds, pass, lines, between);
            }
        }
        if (pass.is_halved && !pass.is_hermitian) {
            fft_store_half(lds, pass, out, lines, dst, static_cast<F>(scale), coarse);
        } else {
            fft_store(lds, pass, out, lines, dst, static_cast<F>(scale), store_factor, coarse, fine);
        }
    }
}

// The roots that stages of these factors multiply by: exp(-2πi·q·k/(R·done)) at q + done·k - 1, for q < done and k from 1
// to R - 1, so that adjacent threads read adjacent ones.
RK_DEVICE void fft_stage_roots(u64 numel, u64 factors, c128 *out) {
    for (u64 i = global_thread(); i < numel; i += global_threads()) {
        u64 done = 1, left = factors;
#pragma unroll 1
        while (done * (left & 15) <= i + 1) {
            done *= left & 15;
            left >>= 4;
        }
        const u64 k = (i + 1) / done;
        out[i] = root_of_unity((i + 1 - k * done) * k, done * (left & 15));
    }
}

// out[i] = exp(-2πi·i·step/n)
RK_DEVICE void fft_roots(u64 numel, u64 step, u64 n, c128 *out) {
    for (u64 i = global_thread(); i < numel; i += global_threads()) {
        out[i] = root_of_unity(i * step, n);
    }
}

// out[k] = exp(-πi·k²/n) for k < n; where numel is larger, also at numel - k, with zeros between.
RK_DEVICE void fft_chirp(u64 numel, u64 n, c128 *out) {
    for (u64 i = global_thread(); i < numel; i += global_threads()) {
        const u64 k = i < n ? i : numel - i;
        out[i] = k < n ? root_of_unity(k * k % (2 * n), 2 * n) : c128{0, 0};
    }
}

}  // namespace rk
