// What moves or combines the pixels of images (b, c, h, w) without weights: im2col and its inverse, pooling, resampling.
#pragma once

#include "convert.hpp"
#include "convolve.hpp"

namespace rk {

// dst (b, out, c, k): what each output of a 1-d convolution meets. A thread writes one run of k.
template <typename T>
RK_DEVICE void im2col_1d(u64 runs, const Axis &axis, const Extents4 &src, const T *image, T *dst) {
#pragma unroll 1
    for (u64 i = global_thread(); i < runs; i += global_threads()) {
        const u64 line = divide(i, src.dim[1]);
        const u64 channel = i - line * src.dim[1];
        const u64 batch = divide(line, axis.out);
        const T *from = image + batch * src.stride[0] + channel * src.stride[1];
#pragma unroll 1
        for (u64 k = 0; k < axis.kernel; ++k) {
            const u64 x = axis.forward(line - batch * axis.out, k);
            dst[i * axis.kernel + k] = x < axis.in ? from[x * src.stride[3]] : T{};
        }
    }
}

// dst (b, out_h, out_w, c, k_h, k_w), one element a thread.
template <typename T>
RK_DEVICE void im2col_2d(u64 count, const Axis &vertical, const Axis &horizontal, const Extents4 &src, const T *image,
                         T *dst) {
#pragma unroll 1
    for (u64 i = global_thread(); i < count; i += global_threads()) {
        const Place4 inner = place_of(i, src.dim[1], vertical.kernel, horizontal.kernel);
        const Place4 pixel = place_of(inner.image, ~0ul, vertical.out, horizontal.out);
        const u64 y = vertical.forward(pixel.y, inner.y);
        const u64 x = horizontal.forward(pixel.x, inner.x);
        const T *from = image + pixel.channel * src.stride[0] + inner.channel * src.stride[1];
        dst[i] = y < vertical.in && x < horizontal.in ? from[y * src.stride[2] + x * src.stride[3]] : T{};
    }
}

// dst (b, c, out) from col (b, in, c, k): each output sums the products that fall on it, in the order of k.
template <typename T>
RK_DEVICE void col2im_1d(u64 count, u64 out, u64 in, u64 channels, u64 kernel, u64 stride, const T *col, T *dst) {
    using Acc = product<T>;
    const Axis axis = {in, out, kernel, stride, 0, 1};
#pragma unroll 1
    for (u64 i = global_thread(); i < count; i += global_threads()) {
        const Place4 at = place_of(i, channels, 1, out);
        Acc sum = 0;
#pragma unroll 1
        for (u64 k = 0; k < kernel; ++k) {
            const u64 from = axis.backward(at.x, k);
            if (from < in) {
                sum += static_cast<Acc>(widen(col[((at.image * in + from) * channels + at.channel) * kernel + k]));
            }
        }
        dst[i] = narrow<T>(static_cast<arith<T>>(sum));
    }
}

// The type that a window's sum is carried in: integers in 64 bits, so that their mean is exact before it is truncated.
template <typename T>
using window_sum = choose<is_float<T>, arith<T>, choose<is_signed_integer<T>, i64, u64>>;

template <typename T>
struct Mean {
    window_sum<T> sum = 0;
    RK_DEVICE void take(T x) { sum += static_cast<window_sum<T>>(widen(x)); }
    RK_DEVICE T result(u64 count) const {
        return narrow<T>(static_cast<arith<T>>(sum / static_cast<window_sum<T>>(count)));
    }
};

template <typename T>
struct Largest {
    arith<T> value = lowest<arith<T>>();
    RK_DEVICE void take(T x) { value = maximum(value, widen(x)); }
    RK_DEVICE T result(u64) const { return narrow<T>(value); }
};

// Windows that lie inside the image, without padding.
template <typename Window, typename T>
RK_DEVICE void pool(u64 kernel_h, u64 kernel_w, u64 stride_h, u64 stride_w, const Extents4 &src, const T *image, T *dst) {
    const u64 out_h = src.dim[2] < kernel_h ? 0 : divide(src.dim[2] - kernel_h, stride_h) + 1;
    const u64 out_w = src.dim[3] < kernel_w ? 0 : divide(src.dim[3] - kernel_w, stride_w) + 1;
    const u64 count = src.dim[0] * src.dim[1] * out_h * out_w;
#pragma unroll 1
    for (u64 i = global_thread(); i < count; i += global_threads()) {
        const Place4 at = place_of(i, src.dim[1], out_h, out_w);
        const T *from = image + at.image * src.stride[0] + at.channel * src.stride[1] +
                        at.y * stride_h * src.stride[2] + at.x * stride_w * src.stride[3];
        Window window;
#pragma unroll 1
        for (u64 y = 0; y < kernel_h; ++y) {
#pragma unroll 1
            for (u64 x = 0; x < kernel_w; ++x) {
                window.take(from[y * src.stride[2] + x * src.stride[3]]);
            }
        }
        dst[i] = window.result(kernel_h * kernel_w);
    }
}

// Places of window o of an axis that count for a mean with padding: those before the padded image's end.
RK_DEVICE u64 places_of_window(const Axis &axis, u64 o) {
    const u64 left = axis.in + 2 * axis.padding - o * axis.stride;
    return left < axis.kernel ? left : axis.kernel;
}

// Windows that reach into padding, which they pass over. `counts_padding` says what a mean is divided by: the window's
// places, or those inside the image.
template <typename Window, typename T>
RK_DEVICE void pool_padded(const Axis &vertical, const Axis &horizontal, bool counts_padding, const Extents4 &src,
                           const T *image, T *dst) {
    const u64 count = src.dim[0] * src.dim[1] * vertical.out * horizontal.out;
#pragma unroll 1
    for (u64 i = global_thread(); i < count; i += global_threads()) {
        const Place4 at = place_of(i, src.dim[1], vertical.out, horizontal.out);
        const T *plane = image + at.image * src.stride[0] + at.channel * src.stride[1];
        Window window;
        u64 taken = 0;
#pragma unroll 1
        for (u64 k = 0; k < vertical.kernel; ++k) {
            const u64 y = vertical.forward(at.y, k);
#pragma unroll 1
            for (u64 l = 0; y < vertical.in && l < horizontal.kernel; ++l) {
                const u64 x = horizontal.forward(at.x, l);
                if (x < horizontal.in) {
                    window.take(plane[y * src.stride[2] + x * src.stride[3]]);
                    ++taken;
                }
            }
        }
        const u64 places = counts_padding ? places_of_window(vertical, at.y) * places_of_window(horizontal, at.x) : taken;
        dst[i] = window.result(places > 0 ? places : 1);
    }
}

// number * in / out, rounded down.
RK_DEVICE u64 share_of(u64 number, u64 in, u64 out, bool fits_32_bits) {
    const u64 product = number * in;
    return fits_32_bits ? static_cast<u32>(product) / static_cast<u32>(out) : product / out;
}

// The source position of an output is its number times the scale, which is the quotient of the sizes, rounded down: in
// integers, as products with a rounded quotient may fall below the whole number that is meant.
template <typename T>
RK_DEVICE void upsample_nearest(u64 out_h, u64 out_w, const Extents4 &src, const T *image, T *dst) {
    const u64 count = src.dim[0] * src.dim[1] * out_h * out_w;
    const bool small = src.dim[2] * out_h <= 0xffffffffu && src.dim[3] * out_w <= 0xffffffffu;
#pragma unroll 1
    for (u64 i = global_thread(); i < count; i += global_threads()) {
        const Place4 at = place_of(i, src.dim[1], out_h, out_w);
        const u64 row = share_of(at.y, src.dim[2], out_h, small);
        const u64 column = share_of(at.x, src.dim[3], out_w, small);
        dst[i] = image[at.image * src.stride[0] + at.channel * src.stride[1] + row * src.stride[2] +
                       column * src.stride[3]];
    }
}

// How one axis is resampled linearly.
struct Linear {
    u64 in;
    f64 scale;  // input pixels per output pixel
    bool align_corners;

    RK_DEVICE Linear(u64 in_, u64 out, bool align_corners_, bool has_scale, f64 factor)
        : in(in_), align_corners(align_corners_) {
        const f64 corners = out > 1 ? static_cast<f64>(in - 1) / static_cast<f64>(out - 1) : 0;
        const f64 areas = has_scale ? 1 / factor : static_cast<f64>(in) / static_cast<f64>(out);
        scale = align_corners ? corners : areas;
    }
    struct Pair {
        u64 low;
        u64 high;
        f64 weight;  // of the higher one
    };
    RK_DEVICE Pair at(u64 o) const {
        const f64 number = static_cast<f64>(o);
        const f64 position = align_corners ? number * scale : (number + 0.5) * scale - 0.5;
        const f64 inside = position > 0 ? position : 0;
        const u64 low = static_cast<u64>(inside) < in - 1 ? static_cast<u64>(inside) : in - 1;
        return {low, low + 1 < in ? low + 1 : low, low + 1 < in ? inside - static_cast<f64>(low) : 0};
    }
};

// Integers are interpolated in a float that holds them, and rounded to nearest even.
template <typename T>
using blended = choose<is_float<T>, arith<T>, choose<sizeof(T) <= 2, f32, f64>>;

template <typename T>
RK_DEVICE void upsample_bilinear(u64 out_h, u64 out_w, const Linear &vertical, const Linear &horizontal,
                                 const Extents4 &src, const T *image, T *dst) {
    using B = blended<T>;
#pragma unroll 1
    for (u64 i = global_thread(); i < src.dim[0] * src.dim[1] * out_h * out_w; i += global_threads()) {
        const Place4 at = place_of(i, src.dim[1], out_h, out_w);
        const Linear::Pair y = vertical.at(at.y);
        const Linear::Pair x = horizontal.at(at.x);
        const T *plane = image + at.image * src.stride[0] + at.channel * src.stride[1];
        const T *upper = plane + y.low * src.stride[2];
        const T *lower = plane + y.high * src.stride[2];
        const B right = static_cast<B>(x.weight);
        const B down = static_cast<B>(y.weight);
        const B left = 1 - right;
        const B above = left * static_cast<B>(widen(upper[x.low * src.stride[3]])) +
                        right * static_cast<B>(widen(upper[x.high * src.stride[3]]));
        const B below = left * static_cast<B>(widen(lower[x.low * src.stride[3]])) +
                        right * static_cast<B>(widen(lower[x.high * src.stride[3]]));
        const B value = (1 - down) * above + down * below;
        if constexpr (is_float<T>) {
            dst[i] = narrow<T>(value);
        } else {
            dst[i] = saturate<T>(rint(value));
        }
    }
}

}  // namespace rk
