#include <stdio.h>
#include <cuda_runtime.h>

__global__ void sum(const float *x, float *out, int n) {
    float mine = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) mine += x[i];
    for (int step = 16; step > 0; step /= 2) mine += __shfl_down_sync(0xffffffff, mine, step);
    if (threadIdx.x % 32 == 0) atomicAdd(out, mine);
}

int main() {
    const int n = 1000;
    float host[n], result = 0, *x, *out;
    for (int i = 0; i < n; ++i) host[i] = i;
    cudaMalloc(&x, sizeof host);
    cudaMalloc(&out, sizeof result);
    cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
    cudaMemset(out, 0, sizeof result);
    sum<<<1, 128>>>(x, out, n);
    cudaMemcpy(&result, out, sizeof result, cudaMemcpyDeviceToHost);
    printf("sum %g, expected %d\n", result, n * (n - 1) / 2);
    return result == n * (n - 1) / 2 ? 0 : 1;
}
