// y = a x + y
#include <hip/hip_runtime.h>

__global__ void saxpy(const float *x, float *y, int n, float a) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] += a * x[i];
    }
}
