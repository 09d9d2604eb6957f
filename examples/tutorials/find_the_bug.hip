#include <hip/hip_runtime.h>

__device__ float square(float x) { return x * x; }

extern "C" __global__ void sum_of_squares(const float *x, float *out) {
    __shared__ float part[128];
    const unsigned t = threadIdx.x;
    part[t] = square(x[t]);
    for (unsigned n = 64; n; n /= 2) {
        if (t < n) part[t] += part[t + n];
        __syncthreads();
    }
    if (t == 0) *out = part[0];
}
