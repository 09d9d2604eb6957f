// conv: convolutions, direct and as matrix products gathered from the image; im2col; pooling; resampling. Candle's
// kernels have one stride, padding and dilation for both axes, and pool without padding; the ones called *_axes and
// conv2d_tiles have their own for each axis, and groups. Pooling and nearest resampling call dimension 2 "w" and dimension 3 "h", as Candle does.
#include "include/convolve.hpp"
#include "include/pool.hpp"

namespace rk {

#define CONV1D(T)                                                                                            \
    RK_KERNEL conv1d_##T(u64, u64 l_out, u64 stride, u64 padding, u64 dilation, const u64 *info,             \
                         const T *src, const T *kernel, T *dst) {                                            \
        convolve<false>({1, 1, l_out, 1, stride, 0, padding, 1, dilation}, extents_1d(info),                 \
                        extents_1d(info + 6), src, kernel, dst);                                             \
    }

#define CONV2D(T)                                                                                            \
    RK_KERNEL conv2d_##T(u64, u64 w_out, u64 h_out, u64 stride, u64 padding, u64 dilation, const u64 *info,  \
                         const T *src, const T *kernel, T *dst) {                                            \
        convolve<false>({1, h_out, w_out, stride, stride, padding, padding, dilation, dilation},             \
                        extents_2d(info), extents_2d(info + 8), src, kernel, dst);                           \
    }

#define CONV_TRANSPOSE1D(T)                                                                                  \
    RK_KERNEL conv_transpose1d_##T(u64, u64 l_out, u64 stride, u64 padding, u64, u64 dilation,               \
                                   const u64 *info, const T *src, const T *kernel, T *dst) {                 \
        convolve<true>({1, 1, l_out, 1, stride, 0, padding, 1, dilation}, extents_1d(info),                  \
                       extents_1d(info + 6), src, kernel, dst);                                              \
    }

#define CONV_TRANSPOSE2D(T)                                                                                  \
    RK_KERNEL conv_transpose2d_##T(u64, u64 w_out, u64 h_out, u64 stride, u64 padding, u64, u64 dilation,    \
                                   const u64 *info, const T *src, const T *kernel, T *dst) {                 \
        convolve<true>({1, h_out, w_out, stride, stride, padding, padding, dilation, dilation},              \
                       extents_2d(info), extents_2d(info + 8), src, kernel, dst);                            \
    }

#define GEOMETRY                                                                                             \
    u64 groups, u64 h_out, u64 w_out, u64 stride_h, u64 stride_w, u64 padding_h, u64 padding_w,              \
        u64 dilation_h, u64 dilation_w, const u64 *info

#define CONV_AXES(name, is_transposed, T)                                                                    \
    RK_KERNEL name##_axes_##T(GEOMETRY, const T *src, const T *kernel, const T *bias, T *dst) {              \
        convolve<is_transposed>({groups, h_out, w_out, stride_h, stride_w, padding_h, padding_w, dilation_h, \
                                 dilation_w},                                                                \
                                extents_2d(info), extents_2d(info + 8), src, kernel, bias, dst);             \
    }

#define CONV_TILES(name, M, N, K, M1, N1, T)                                                                 \
    RK_BLOCKS_KERNEL((TileShape<M, N, K, M1, N1>::threads), (M1 * N1 > 64 ? 1 : 2))                          \
    name(GEOMETRY, const T *src, const T *kernel, T *dst) {                                                  \
        convolve_tiles<T, TileShape<M, N, K, M1, N1>>(                                                       \
            {groups, h_out, w_out, stride_h, stride_w, padding_h, padding_w, dilation_h, dilation_w},        \
            extents_2d(info), extents_2d(info + 8), src, kernel, dst);                                       \
    }

#define IM2COL1D(T)                                                                                          \
    RK_KERNEL im2col1d_##T(u64 numel, u64 l_out, u64 l_k, u64 stride, u64 padding, u64 dilation,             \
                           const u64 *info, const T *src, T *dst) {                                          \
        const Extents4 extents = extents_1d(info);                                                           \
        im2col_1d(numel, {extents.dim[3], l_out, l_k, stride, padding, dilation}, extents, src, dst);        \
    }

#define IM2COL(T)                                                                                            \
    RK_KERNEL im2col_##T(u64 dst_numel, u64 h_out, u64 w_out, u64 h_k, u64 w_k, u64 stride, u64 padding,     \
                         u64 dilation, const u64 *info, const T *src, T *dst) {                              \
        const Extents4 extents = extents_2d(info);                                                           \
        im2col_2d(dst_numel, {extents.dim[2], h_out, h_k, stride, padding, dilation},                        \
                  {extents.dim[3], w_out, w_k, stride, padding, dilation}, extents, src, dst);               \
    }

#define COL2IM1D(T)                                                                                          \
    RK_KERNEL col2im1d_##T(u64 dst_el, u64 l_out, u64 l_in, u64 c_out, u64 k_size, u64 stride, const T *src, \
                           T *dst) {                                                                         \
        col2im_1d(dst_el, l_out, l_in, c_out, k_size, stride, src, dst);                                     \
    }

#define POOL(name, Window, T)                                                                                \
    RK_KERNEL name##_##T(u64, u64 w_k, u64 h_k, u64 w_stride, u64 h_stride, const u64 *info, const T *src,   \
                         T *dst) {                                                                           \
        pool<Window<T>>(w_k, h_k, w_stride, h_stride, extents_2d(info), src, dst);                           \
    }

#define POOL_AXES(name, Window, T)                                                                           \
    RK_KERNEL name##_axes_##T(u64 h_out, u64 w_out, u64 h_k, u64 w_k, u64 stride_h, u64 stride_w,            \
                              u64 padding_h, u64 padding_w, u64 dilation_h, u64 dilation_w,                  \
                              bool counts_padding, const u64 *info, const T *src, T *dst) {                  \
        const Extents4 extents = extents_2d(info);                                                           \
        pool_padded<Window<T>>({extents.dim[2], h_out, h_k, stride_h, padding_h, dilation_h},                \
                               {extents.dim[3], w_out, w_k, stride_w, padding_w, dilation_w},                \
                               counts_padding, extents, src, dst);                                           \
    }

// The scales that Candle passes are the quotients of the sizes.
#define UPSAMPLE_NEAREST2D(T)                                                                                \
    RK_KERNEL upsample_nearest2d_##T(u64 w_out, u64 h_out, f64, f64, const u64 *info, const T *src,          \
                                     T *dst) {                                                               \
        upsample_nearest(w_out, h_out, extents_2d(info), src, dst);                                          \
    }

#define UPSAMPLE_BILINEAR2D(T)                                                                               \
    RK_KERNEL upsample_bilinear2d_##T(u64 w_out, u64 h_out, bool align_corners, bool has_scale_h,            \
                                      f64 scale_h, bool has_scale_w, f64 scale_w, const u64 *info,           \
                                      const T *src, T *dst) {                                                \
        const Extents4 extents = extents_2d(info);                                                           \
        upsample_bilinear(h_out, w_out, {extents.dim[2], h_out, align_corners, has_scale_h, scale_h},        \
                          {extents.dim[3], w_out, align_corners, has_scale_w, scale_w}, extents, src, dst);  \
    }

#include "instances/conv.inc"

}  // namespace rk
