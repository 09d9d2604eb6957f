// Tensor kernels as CUDA libraries have them: strided elementwise functions by macros, rows by warps of 32, half types.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

__device__ bool is_contiguous(size_t dims, const size_t *sizes, const size_t *strides) {
    size_t step = 1;
    for (size_t d = dims; d-- > 0; step *= sizes[d]) {
        if (sizes[d] > 1 && strides[d] != step) {
            return false;
        }
    }
    return true;
}

__device__ size_t place(size_t i, size_t dims, const size_t *sizes, const size_t *strides) {
    size_t found = 0;
    for (size_t d = dims; d-- > 0; i /= sizes[d]) {
        found += i % sizes[d] * strides[d];
    }
    return found;
}

#define ELEMENTS(i, n) for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)

#define UNARY(NAME, T, FORMULA)                                                                                        \
    extern "C" __global__ void NAME(size_t n, size_t dims, const size_t *info, const T *inp, T *out) {                 \
        const bool plain = info == nullptr || is_contiguous(dims, info, info + dims);                                  \
        ELEMENTS(i, n) {                                                                                               \
            const T x = inp[plain ? i : place(i, dims, info, info + dims)];                                            \
            out[i] = FORMULA;                                                                                          \
        }                                                                                                              \
    }

#define BINARY(NAME, T, FORMULA)                                                                                       \
    extern "C" __global__ void NAME(size_t n, size_t dims, const size_t *info, const T *lhs, const T *rhs, T *out) {   \
        ELEMENTS(i, n) {                                                                                               \
            const T x = lhs[info ? place(i, dims, info, info + dims) : i];                                             \
            const T y = rhs[info ? place(i, dims, info, info + 2 * dims) : i];                                         \
            out[i] = FORMULA;                                                                                          \
        }                                                                                                              \
    }

UNARY(ugelu_f32, float, x * normcdff(x))
UNARY(usqr_f16, __half, __hmul(x, x))
UNARY(uneg_bf16, __nv_bfloat16, __hneg(x))
BINARY(badd_f32, float, x + y)
BINARY(bmaximum_f16, __half, __hmax(x, y))

extern "C" __global__ void affine_f32(size_t n, const float *inp, float *out, float mul, float add) {
    ELEMENTS(i, n) { out[i] = __fmaf_rn(inp[i], mul, add); }
}

extern "C" __global__ void fill_u8(uint8_t *out, uint8_t value, size_t n) {
    ELEMENTS(i, n) { out[i] = value; }
}

extern "C" __global__ void cast_f32_f16(size_t n, const float *inp, __half *out) {
    ELEMENTS(i, n) { out[i] = __float2half(inp[i]); }
}

extern "C" __global__ void where_u8_f32(size_t n, const uint8_t *ids, const float *yes, const float *no, float *out) {
    ELEMENTS(i, n) { out[i] = __ldg(ids + i) ? yes[i] : no[i]; }
}

extern "C" __global__ void is_u32_f32(size_t n, const uint32_t *ids, const float *inp, float *out, size_t columns) {
    ELEMENTS(i, n) { out[i] = inp[ids[i / columns] * columns + i % columns]; }
}

extern "C" __global__ void sa_u32_f32(size_t n, const uint32_t *ids, const float *inp, float *out) {
    ELEMENTS(i, n) { atomicAdd(out + ids[i], inp[i]); }
}

__device__ float warp_sum(float v) {
    for (int offset = 16; offset > 0; offset >>= 1) {
        v += __shfl_xor_sync(0xffffffff, v, offset);
    }
    return v;
}

__device__ float warp_max(float v) {
    for (int offset = 16; offset > 0; offset >>= 1) {
        v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, offset));
    }
    return v;
}

extern "C" __global__ void row_sum_f32(const float *inp, float *out, int columns) {
    __shared__ float parts[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float v = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        v += inp[blockIdx.x * columns + i];
    }
    v = warp_sum(v);
    if (lane == 0) {
        parts[warp] = v;
    }
    __syncthreads();
    if (warp == 0) {
        v = warp_sum(threadIdx.x < blockDim.x / 32 ? parts[lane] : 0.0f);
        if (lane == 0) {
            out[blockIdx.x] = v;
        }
    }
}

extern "C" __global__ void softmax_f32(const float *inp, float *out, int columns) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float largest = -INFINITY, sum = 0;
    for (int i = lane; i < columns; i += 32) {
        largest = fmaxf(largest, inp[row * columns + i]);
    }
    largest = warp_max(largest);
    for (int i = lane; i < columns; i += 32) {
        sum += __expf(inp[row * columns + i] - largest);
    }
    sum = warp_sum(sum);
    for (int i = lane; i < columns; i += 32) {
        out[row * columns + i] = __fdividef(__expf(inp[row * columns + i] - largest), sum);
    }
}

extern "C" __global__ void asort_asc_f32(const float *inp, uint32_t *out, int columns, int padded) {
    extern __shared__ int order[];
    const float *row = inp + blockIdx.x * columns;
    order[threadIdx.x] = threadIdx.x;
    __syncthreads();
    for (int k = 2; k <= padded; k *= 2) {
        for (int j = k / 2; j > 0; j /= 2) {
            const int i = threadIdx.x, other = i ^ j;
            if (other > i) {
                const int a = order[i], b = order[other];
                const bool later = b >= columns ? false : a >= columns || row[a] > row[b];
                if ((i & k) == 0 ? later : a >= columns ? false : b >= columns || row[b] > row[a]) {
                    order[i] = b;
                    order[other] = a;
                }
            }
            __syncthreads();
        }
    }
    if (threadIdx.x < columns) {
        out[blockIdx.x * columns + threadIdx.x] = order[threadIdx.x];
    }
}

extern "C" __global__ void conv1d_f32(size_t n, const float *src, const float *kernel, float *dst, int c_in, int length,
                                      int taps, int stride) {
    const int l_out = (length - taps) / stride + 1;
    ELEMENTS(i, n) {
        const int o = i / l_out, l = i % l_out;
        float total = 0;
        for (int c = 0; c < c_in; ++c) {
            for (int k = 0; k < taps; ++k) {
                total = fmaf(src[c * length + l * stride + k], kernel[(o * c_in + c) * taps + k], total);
            }
        }
        dst[i] = total;
    }
}

struct block_q8_0 {
    __half d;
    int8_t qs[32];
};

extern "C" __global__ void dequantize_q8_0(const block_q8_0 *blocks, float *out, size_t n) {
    ELEMENTS(i, n) { out[i] = __half2float(blocks[i / 32].d) * blocks[i / 32].qs[i % 32]; }
}

extern "C" __global__ void dot_i8(const int *a, const int *b, int *out, int words) {
    const int lane = threadIdx.x & 31;
    int total = 0;
    for (int i = lane; i < words; i += 32) {
        total = __dp4a(a[blockIdx.x * words + i], b[i], total);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        total += __shfl_down_sync(0xffffffff, total, offset);
    }
    if (lane == 0) {
        out[blockIdx.x] = total;
    }
}
