// A whole HIP program: `rocmkern hipcc examples/saxpy_program.hip -o saxpy`, then `rocmkern run-hip ./saxpy`.
#include <hip/hip_runtime.h>

#include <stdio.h>
#include <stdlib.h>

static void check(hipError_t status) {
    if (status != hipSuccess) {
        fprintf(stderr, "%s\n", hipGetErrorString(status));
        exit(1);
    }
}

__global__ void saxpy(const float *x, float *y, int n, float a) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] += a * x[i];
    }
}

int main() {
    constexpr int n = 1000;
    float host[n], *x, *y;
    for (int i = 0; i < n; ++i) {
        host[i] = i;
    }
    check(hipMalloc(&x, sizeof host));
    check(hipMalloc(&y, sizeof host));
    check(hipMemcpy(x, host, sizeof host, hipMemcpyHostToDevice));
    check(hipMemcpy(y, host, sizeof host, hipMemcpyHostToDevice));
    saxpy<<<(n + 255) / 256, 256>>>(x, y, n, 0.5f);
    check(hipGetLastError());
    check(hipMemcpy(host, y, sizeof host, hipMemcpyDeviceToHost));
    printf("y[%d] is %g\n", n - 1, host[n - 1]);
}
