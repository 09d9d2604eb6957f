#include <hip/hip_runtime.h>

// Reads rows and writes columns: neighbouring lanes write far from each other.
extern "C" __global__ void transpose_plain(unsigned n, const float *in, float *out) {
    const unsigned x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    out[x * n + y] = in[y * n + x];
}

// Turns a tile in shared memory, so that reads and writes both follow rows.
extern "C" __global__ void transpose_tiled(unsigned n, const float *in, float *out) {
    __shared__ float tile[32][33];
    tile[threadIdx.y][threadIdx.x] = in[(blockIdx.y * 32 + threadIdx.y) * n + blockIdx.x * 32 + threadIdx.x];
    __syncthreads();
    out[(blockIdx.x * 32 + threadIdx.y) * n + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
