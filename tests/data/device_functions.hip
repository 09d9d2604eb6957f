// What HIP's headers offer to kernels, a kernel for each kind; tests/build/test_hip_headers.py has the right answers.
#include <hip/hip_bf16.h>
#include <hip/hip_complex.h>
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#include <assert.h>
#include <stdio.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace cg = cooperative_groups;

extern "C" __global__ void waves(const int *x, long long *out) {
    const int i = threadIdx.x, n = blockDim.x;
    int is_same;
    out[0 * n + i] = __shfl(x[i], 3);
    out[1 * n + i] = __shfl_up(x[i], 2, 8);
    out[2 * n + i] = __shfl_down(x[i], 3, 16);
    out[3 * n + i] = __shfl_xor_sync(~0ull, x[i], 5);
    out[4 * n + i] = static_cast<long long>(__shfl(static_cast<double>(x[i]), i ^ 1));
    out[5 * n + i] = static_cast<long long>(__ballot(x[i] % 3 == 0));
    out[6 * n + i] = __any(x[i] == 7) * 2 + __all(x[i] < 1000);
    out[7 * n + i] = static_cast<long long>(__match_any(x[i] % 4));
    out[8 * n + i] = __match_all_sync(~0ull, 5, &is_same) == __activemask() && is_same;
    out[9 * n + i] = __reduce_add_sync(~0ull, x[i]);
    out[10 * n + i] = __reduce_max_sync(~0ull, x[i]);
    out[11 * n + i] = __syncthreads_count(x[i] & 1) * 4 + __syncthreads_or(x[i] == 5) * 2 + __syncthreads_and(x[i] > 5);
    out[12 * n + i] = __shfl(static_cast<signed char>(x[i]), 1);
    out[13 * n + i] = __lane_id() + 100 * warpSize;
}

extern "C" __global__ void groups(const int *x, int *out) {
    const int i = threadIdx.x, n = blockDim.x;
    const auto block = cg::this_thread_block();
    const auto tile = cg::tiled_partition<16>(block);
    out[0 * n + i] = cg::reduce(tile, x[i], cg::plus<int>());
    out[1 * n + i] = cg::reduce(tile, x[i], cg::greater<int>());
    out[2 * n + i] = tile.meta_group_rank() * 100 + tile.thread_rank();
    out[3 * n + i] = tile.ballot(x[i] & 1);
    out[4 * n + i] = -1;
    if (x[i] & 1) {
        const auto active = cg::coalesced_threads();
        out[4 * n + i] = active.thread_rank() * 100 + active.size();
    }
}

extern "C" __global__ void after_all(int *arrived, int *out) {
    const auto grid = cg::this_grid();
    for (int round = 1; round <= 2; ++round) {
        atomicAdd(arrived, 1);
        grid.sync();
        out[grid.thread_rank()] += atomicAdd(arrived, 0) * round;
        grid.sync();
    }
}

template <typename T>
__device__ void add_all(T *p, T value) {
    atomicAdd(p, value);
    atomicAdd_block(p + 1, value);
    atomicAdd_system(p + 2, value);
    atomicSub(p + 3, value);
    atomicMax(p + 4, value);
    atomicMin(p + 5, value);
    atomicExch(p + 6, value);
    atomicCAS(p + 7, T(0), value);
}
extern "C" __global__ void atomics(int *i32, unsigned *u32, unsigned long long *u64, float *f32, double *f64, __half *f16,
                                   __hip_bfloat16 *bf16) {
    const int i = threadIdx.x;
    add_all(i32, i - 30);
    add_all(u32, static_cast<unsigned>(i));
    add_all(u64, static_cast<unsigned long long>(i) << 33);
    atomicAdd(f32, 0.5f * i);
    atomicMax(f32 + 1, 1.0f * i);
    atomicAdd(f64, 0.25 * i);
    atomicMin(f64 + 1, -1.0 * i);
    atomicOr(u32 + 8, 1u << (i % 32));
    atomicAnd(u32 + 9, ~(1u << (i % 16)));
    atomicXor(u32 + 10, 3u);
    atomicInc(u32 + 11, 9u);
    atomicDec(u32 + 12, 9u);
    atomicAdd(f16 + 1, __float2half(1));
    atomicAdd(bf16, __float2bfloat16(2));
}

extern "C" __global__ void maths(const float *x, const double *y, double *out) {
    const int i = threadIdx.x, n = blockDim.x;
    float whole, sine, cosine;
    int exponent;
    const float values[] = {
        sinf(x[i]), std::sin(x[i]), cosf(x[i]), std::exp(x[i]), logf(x[i]), std::sqrt(x[i]), tanhf(x[i]), erff(x[i]),
        powf(x[i], 1.5f), std::pow(x[i], 2), fmaf(x[i], x[i], 1.0f), std::fabs(-x[i]), floorf(x[i]), rsqrtf(x[i]),
        fminf(x[i], 1.0f), std::max(x[i], 1.0f), max(x[i], 1.0f), __expf(x[i]), __fdividef(x[i], 3.0f), cbrtf(x[i]),
        modff(x[i], &whole) + whole, ldexpf(frexpf(x[i], &exponent), exponent), (sincosf(x[i], &sine, &cosine), sine),
        hypotf(x[i], 2.0f), std::numeric_limits<float>::max(),
    };
    for (int j = 0; j < 25; ++j) {
        out[j * n + i] = values[j];
    }
    out[25 * n + i] = std::log1p(y[i]);
    out[26 * n + i] = pow(y[i], 0.3);
    out[27 * n + i] = std::atan2(y[i], 2.0);
    out[28 * n + i] = tgamma(y[i]);
    out[29 * n + i] = sin(3) + static_cast<double>(abs(-4)) + isnan(y[i]) + std::isinf(x[i]);
}

extern "C" __global__ void intrinsics(const unsigned *a, const unsigned *b, unsigned *out) {
    const int i = threadIdx.x, n = blockDim.x;
    const unsigned x = a[i], y = b[i];
    const unsigned values[] = {
        static_cast<unsigned>(__popc(x)), static_cast<unsigned>(__clz(x >> 5)), static_cast<unsigned>(__ffs(x & y)),
        __brev(x), __umulhi(x, y), static_cast<unsigned>(__mulhi(x, y)), __byte_perm(x, y, 0x7250),
        __funnelshift_l(x, y, 7), __funnelshift_r(x, y, 7), static_cast<unsigned>(__dp4a(int(x), int(y), 5)),
        __dp4a(x, y, 5u), __vadd4(x, y), __vmaxu4(x, y), __vcmpgts4(x, y), __usad(x, y, 1), __uhadd(x, y),
        __float_as_uint(__uint_as_float(x)), static_cast<unsigned>(__float2int_rn(2.5f)), __vsubss4(x, y),
    };
    for (int j = 0; j < 19; ++j) {
        out[j * n + i] = values[j];
    }
}

extern "C" __global__ void short_floats(const __half *x, const __hip_bfloat16 *y, float *out) {
    const int i = threadIdx.x, n = blockDim.x;
    const __half2 pair = __halves2half2(x[i], __float2half(2));
    out[0 * n + i] = __half2float(x[i] * x[i]);
    out[1 * n + i] = __half2float(__hfma(x[i], x[i], x[i]));
    out[2 * n + i] = __low2float(__hadd2(pair, pair)) + __high2float(__hmul2(pair, pair));
    out[3 * n + i] = __half2float(hexp(x[i]));
    out[4 * n + i] = __hgt(x[i], __float2half(1)) + 2 * (x[i] < 1);
    out[5 * n + i] = x[i] * 2.5f;
    out[6 * n + i] = __bfloat162float(y[i] * y[i]);
    out[7 * n + i] = __bfloat162float(__hmax(y[i], __float2bfloat16(1)) / __float2bfloat16(3));
    out[8 * n + i] = __half2float(__shfl_xor(x[i], 1));
}

extern "C" __global__ void vectors(const float4 *x, float4 *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 v = x[i] * 2.0f + make_float4(1, 2, 3, 4);
    v.x += static_cast<float>(gridDim.x) + static_cast<float>(dim3(blockDim).x);
    const hipFloatComplex z = hipCmulf(make_hipFloatComplex(v.x, v.y), make_hipFloatComplex(0, 1));
    out[i] = make_float4(z.x, z.y, v.z, v.w);
}

extern "C" __global__ void says(int n) {
    assert(n != 13);
    if (threadIdx.x < 2) {
        printf("thread %u of %d: %s %5.2f%%\n", threadIdx.x, n, n > 5 ? "many" : "few", 12.345);
    }
}
