#include <hip/hip_runtime.h>

// A device function: called by kernels, never launched itself.
__device__ unsigned rounds_at(float a, float b, unsigned most) {
    float x = 0, y = 0;
    unsigned n = 0;
    while (n < most && x * x + y * y <= 4) {
        const float next = x * x - y * y + a;
        y = 2 * x * y + b;
        x = next;
        ++n;
    }
    return n;
}

// One thread for each pixel of a square picture.
extern "C" __global__ void mandelbrot(unsigned side, unsigned most, unsigned *rounds) {
    const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= side || y >= side) return;
    rounds[y * side + x] = rounds_at(-2.2f + 3.0f * x / side, -1.5f + 3.0f * y / side, most);
}

// Each workgroup counts in shared memory, then adds its counts to everybody's.
extern "C" __global__ void histogram(unsigned n, const unsigned *values, unsigned *bins) {
    __shared__ unsigned local[64];
    if (threadIdx.x < 64) local[threadIdx.x] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&local[values[i] / 2 % 64], 1);
    }
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

// Lanes of a wave add up their numbers by shuffles; one lane of each wave tells the sum.
extern "C" __global__ void total(unsigned n, const unsigned *values, unsigned *sum) {
    unsigned mine = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += values[i];
    for (int step = warpSize / 2; step > 0; step /= 2) mine += __shfl_down(mine, step);
    if (threadIdx.x % warpSize == 0) atomicAdd(sum, mine);
}
