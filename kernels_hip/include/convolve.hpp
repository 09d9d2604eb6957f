// Direct convolutions of images (b, c, h, w) by kernels (c_out, c_in / groups, h, w), transposed ones by kernels
// (c_in, c_out / groups, h, w), of any strides; a signal of one dimension is an image of height 1. One thread computes
// one output at a time; sums are carried in f32, f64 or a word that wraps, and rounded once.
#pragma once

#include "device.hpp"
#include "gemm.hpp"
#include "index.hpp"

namespace rk {

// One spatial axis of a convolution.
struct Axis {
    u64 in;
    u64 out;
    u64 kernel;
    u64 stride;
    u64 padding;
    u64 dilation;

    // The input position that output `o` meets with kernel position `k`; at least `in` where there is none.
    RK_DEVICE u64 forward(u64 o, u64 k) const { return o * stride + k * dilation - padding; }

    // The same for the transposed convolution, whose output o gets input i where i * stride + k * dilation is o + padding.
    RK_DEVICE u64 backward(u64 o, u64 k) const {
        const u64 distance = o + padding - k * dilation;
        const u64 i = stride == 1 ? distance : divide(distance, stride);
        return distance < out + padding && i * stride == distance ? i : in;
    }
};

// A 4-d tensor.
struct Extents4 {
    u64 dim[4];
    u64 stride[4];
};

// Candle's info of a 2-d convolution: dims and strides of src, then of the kernel.
RK_DEVICE Extents4 extents_2d(const u64 *info) {
    return {{info[0], info[1], info[2], info[3]}, {info[4], info[5], info[6], info[7]}};
}

// Of a 1-d one, as an image of height 1.
RK_DEVICE Extents4 extents_1d(const u64 *info) {
    return {{info[0], info[1], 1, info[2]}, {info[3], info[4], 0, info[5]}};
}

// Where an output lies.
struct Place4 {
    u64 image;
    u64 channel;
    u64 y;
    u64 x;
};

RK_DEVICE Place4 place_of(u64 linear, u64 channels, u64 height, u64 width) {
    const u64 line = divide(linear, width);
    const u64 plane = divide(line, height);
    const u64 image = divide(plane, channels);
    return {image, plane - image * channels, line - plane * height, linear - line * width};
}

template <bool Transposed, typename T>
RK_DEVICE T convolve_at(const Extents4 &src, const Extents4 &kernel, const Axis &vertical, const Axis &horizontal,
                        u64 groups, const Place4 &at, u64 channels_out, const T *image, const T *weights,
                        const T *bias) {
    using Acc = product<T>;
    const u64 group_out = groups == 1 ? channels_out : divide(channels_out, groups);
    const u64 group_in = groups == 1 ? src.dim[1] : divide(src.dim[1], groups);
    const u64 group = groups == 1 ? 0 : divide(at.channel, group_out);
    const T *from = image + at.image * src.stride[0] + group * group_in * src.stride[1];
    const T *by = Transposed ? weights + group * group_in * kernel.stride[0] +
                                   (at.channel - group * group_out) * kernel.stride[1]
                             : weights + at.channel * kernel.stride[0];
    const u64 by_channel = kernel.stride[Transposed ? 0 : 1];
    Acc sum = 0;
#pragma unroll 1
    for (u64 ky = 0; ky < vertical.kernel; ++ky) {
        const u64 y = Transposed ? vertical.backward(at.y, ky) : vertical.forward(at.y, ky);
        if (y >= vertical.in) {
            continue;
        }
#pragma unroll 1
        for (u64 kx = 0; kx < horizontal.kernel; ++kx) {
            const u64 x = Transposed ? horizontal.backward(at.x, kx) : horizontal.forward(at.x, kx);
            if (x >= horizontal.in) {
                continue;
            }
            const T *element = from + y * src.stride[2] + x * src.stride[3];
            const T *weight = by + ky * kernel.stride[2] + kx * kernel.stride[3];
#pragma unroll 1
            for (u64 c = 0; c < group_in; ++c) {
                sum = multiply_add(static_cast<Acc>(widen(*element)), static_cast<Acc>(widen(*weight)), sum);
                element += src.stride[1];
                weight += by_channel;
            }
        }
    }
    const auto total = static_cast<arith<T>>(sum);
    return narrow<T>(bias == nullptr ? total : add(total, widen(bias[at.channel])));
}

// What the direct convolutions differ in besides the layouts.
struct Geometry {
    u64 groups;
    u64 out_h;
    u64 out_w;
    u64 stride_h;
    u64 stride_w;
    u64 padding_h;
    u64 padding_w;
    u64 dilation_h;
    u64 dilation_w;

    RK_DEVICE Axis vertical(const Extents4 &src, const Extents4 &kernel) const {
        return {src.dim[2], out_h, kernel.dim[2], stride_h, padding_h, dilation_h};
    }
    RK_DEVICE Axis horizontal(const Extents4 &src, const Extents4 &kernel) const {
        return {src.dim[3], out_w, kernel.dim[3], stride_w, padding_w, dilation_w};
    }
};

template <bool Transposed, typename T>
RK_DEVICE void convolve(const Geometry &geometry, const Extents4 &src, const Extents4 &kernel, const T *image,
                        const T *weights, const T *bias, T *dst) {
    const Axis vertical = geometry.vertical(src, kernel);
    const Axis horizontal = geometry.horizontal(src, kernel);
    const u64 channels = Transposed ? kernel.dim[1] * geometry.groups : kernel.dim[0];
    const u64 count = src.dim[0] * channels * vertical.out * horizontal.out;
#pragma unroll 1
    for (u64 i = global_thread(); i < count; i += global_threads()) {
        const Place4 at = place_of(i, channels, vertical.out, horizontal.out);
        dst[i] = convolve_at<Transposed>(src, kernel, vertical, horizontal, geometry.groups, at, channels, image,
                                         weights, bias);
    }
}

// Without a bias.
template <bool Transposed, typename T>
RK_DEVICE void convolve(const Geometry &geometry, const Extents4 &src, const Extents4 &kernel, const T *image,
                        const T *weights, T *dst) {
    convolve<Transposed>(geometry, src, kernel, image, weights, static_cast<const T *>(nullptr), dst);
}

// The right operand of a convolution as a matrix product: row k is one (channel, ky, kx) of the kernel, column n one
// output pixel. It is gathered from the image instead of being laid out in memory. A thread keeps the same columns all the
// way, so that their positions in the image are worked out once; from step to step its row advances by counting.
template <typename T, u32 Extent, u32 Depth, u32 Threads>
struct ImageWalk {
    using Step = StagedStep<Extent, Depth, Threads>;
    static constexpr u32 per_line = Extent / quad;
    static constexpr u32 lines_apart = Threads / per_line;  // between a thread's quads
    static_assert(Threads % per_line == 0, "a thread's quads lie in the same columns");

    const T *corner;  // of the image's group of channels
    i32 height;
    i32 width;
    i64 channel_stride;
    i64 row_stride;
    i64 column_stride;
    i32 kernel_h;
    i32 kernel_w;
    i32 dilation_h;
    i32 dilation_w;
    i32 first_y[quad];  // where kernel position (0, 0) falls for this thread's columns
    i32 first_x[quad];
    i32 channel;  // of the thread's first row in the next step
    i32 ky;
    i32 kx;
    Pack<T, quad> staged[Step::quads];

    RK_DEVICE ImageWalk(const Geometry &geometry, const Extents4 &src, const Extents4 &kernel, const T *image, u32 first)
        : corner(image),
          height(static_cast<i32>(src.dim[2])),
          width(static_cast<i32>(src.dim[3])),
          channel_stride(static_cast<i64>(src.stride[1])),
          row_stride(static_cast<i64>(src.stride[2])),
          column_stride(static_cast<i64>(src.stride[3])),
          kernel_h(static_cast<i32>(kernel.dim[2])),
          kernel_w(static_cast<i32>(kernel.dim[3])),
          dilation_h(static_cast<i32>(geometry.dilation_h)),
          dilation_w(static_cast<i32>(geometry.dilation_w)) {
        const u32 out_w = static_cast<u32>(geometry.out_w);
        const u32 pixels = static_cast<u32>(geometry.out_h) * out_w;
#pragma unroll
        for (u32 j = 0; j < quad; ++j) {
            const u32 n = first + thread_x() % per_line * quad + j;
            const u32 y = n / out_w;
            const u32 x = n - y * out_w;
            const i32 outside = -0x40000000;  // no kernel reaches from there into the image
            first_y[j] = n < pixels ? static_cast<i32>(y * static_cast<u32>(geometry.stride_h)) -
                                          static_cast<i32>(geometry.padding_h)
                                    : outside;
            first_x[j] = static_cast<i32>(x * static_cast<u32>(geometry.stride_w)) -
                         static_cast<i32>(geometry.padding_w);
        }
        channel = ky = kx = 0;
        advance(static_cast<i32>(thread_x() / per_line));
    }
    // On by up to a step's rows.
    RK_DEVICE void advance(i32 rows) {
        const i32 x = kx + rows;
        const i32 lines = x / kernel_w;
        const i32 y = ky + lines;
        const i32 planes = y / kernel_h;
        kx = x - lines * kernel_w;
        ky = y - planes * kernel_h;
        channel += planes;
    }
    RK_DEVICE bool is_whole() const { return true; }
    RK_DEVICE void load_whole() { load(Depth); }
    RK_DEVICE void load(u32 depth_left) {
#pragma unroll
        for (u32 q = 0; q < Step::quads; ++q) {
            const bool inside = thread_x() / per_line + q * lines_apart < depth_left;
            const i32 dy = ky * dilation_h;
            const i32 dx = kx * dilation_w;
            const T *plane = corner + channel * channel_stride;
#pragma unroll
            for (u32 j = 0; j < quad; ++j) {
                const i32 y = first_y[j] + dy;
                const i32 x = first_x[j] + dx;
                const bool within = inside && static_cast<u32>(y) < static_cast<u32>(height) &&
                                    static_cast<u32>(x) < static_cast<u32>(width);
                staged[q].lane[j] = within ? plane[y * row_stride + x * column_stride] : T{};
            }
            advance(static_cast<i32>(lines_apart));
        }
    }
    template <typename Acc>
    RK_DEVICE void store(Acc *tile) const {
#pragma unroll
        for (u32 q = 0; q < Step::quads; ++q) {
            const u32 line = thread_x() / per_line + q * lines_apart;
            Pack<Acc, quad> wide;
#pragma unroll
            for (u32 j = 0; j < quad; ++j) {
                wide.lane[j] = static_cast<Acc>(widen(staged[q].lane[j]));
            }
            *reinterpret_cast<Pack<Acc, quad> *>(tile + line * Step::pitch + thread_x() % per_line * quad) = wide;
        }
    }
};

// A convolution as one matrix product per image and group: weights (c_out / groups, c_in / groups * kernel) times pixels.
// The weights of an output channel must lie side by side; an image plane has fewer than 2^30 pixels.
template <typename T, typename Shape>
RK_DEVICE void convolve_tiles(const Geometry &geometry, const Extents4 &src, const Extents4 &kernel, const T *image,
                              const T *weights, T *dst) {
    using Acc = product<T>;
    using Sums = Accumulators<Acc, Shape>;
    __shared__ Acc lds[2 * Sums::buffer] __attribute__((aligned(32)));
    const u32 groups = static_cast<u32>(geometry.groups);
    const u32 channels = static_cast<u32>(kernel.dim[0]) / groups;
    const u32 pixels = static_cast<u32>(geometry.out_h * geometry.out_w);
    const u64 depth = kernel.dim[1] * kernel.dim[2] * kernel.dim[3];
    const u32 tile_rows = (channels + Shape::rows - 1) / Shape::rows;
    const u32 tile_columns = (pixels + Shape::columns - 1) / Shape::columns;
    const u32 per_product = tile_rows * tile_columns;
#pragma unroll 1
    for (u64 work = block_x(); work < src.dim[0] * groups * per_product; work += grid_x()) {
        const u64 product_number = divide(work, per_product);
        const u32 tile = static_cast<u32>(work - product_number * per_product);
        const u32 row = tile % tile_rows * Shape::rows;
        const u32 column = tile / tile_rows * Shape::columns;
        const u64 batch = divide(product_number, groups);
        const u64 group = product_number - batch * groups;
        const T *plane = image + batch * src.stride[0] + group * kernel.dim[1] * src.stride[1];
        const T *rows = weights + group * channels * kernel.stride[0];
        Walk<T, Shape::rows, Shape::depth, Shape::threads> left({rows, channels, kernel.stride[0], 1}, row);
        ImageWalk<T, Shape::columns, Shape::depth, Shape::threads> right(geometry, src, kernel, plane, column);
        barrier();  // the buffers may still be read for the tile before
        const auto sums = multiply_tile<Sums>(left, right, depth, lds);
        sums.store(Corner<T>(dst + product_number * channels * pixels, channels, pixels, row, column));
    }
}

}  // namespace rk
