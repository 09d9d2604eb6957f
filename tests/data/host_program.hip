// A whole HIP program, which says "all right" where everything that it looks at is.
#include <hip/hip_runtime.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                             \
    do {                                                                                        \
        const hipError_t status = (call);                                                       \
        if (status != hipSuccess) {                                                             \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(status));    \
            exit(1);                                                                            \
        }                                                                                       \
    } while (0)
#define REQUIRE(claim)                                          \
    do {                                                        \
        if (!(claim)) {                                         \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #claim);  \
            exit(1);                                            \
        }                                                       \
    } while (0)

constexpr int count = 1000, threads = 128;

__constant__ float factors[4];
__device__ int counter = 5;
__managed__ int shown = 7;

template <typename T>
__global__ void add(const T *a, const T *b, T *c, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        c[i] = a[i] + b[i];
    }
}

__global__ void scale(float *x, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] *= factors[i % 4];
        atomicAdd(&counter, 1);
    }
}

__global__ void reverse(const float *x, float *y) {
    extern __shared__ float tile[];
    tile[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    y[blockIdx.x * blockDim.x + threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

__global__ void tell(int number) {
    if (threadIdx.x == 0) {
        printf("kernel %d\n", number);
        shown += number;
    }
}

static void called(void *passed) { ++*static_cast<int *>(passed); }

template <typename T>
static void adds() {
    T host[count], *a, *b, *c;
    CHECK(hipMalloc(&a, sizeof host));
    CHECK(hipMalloc(&b, sizeof host));
    CHECK(hipMalloc(&c, sizeof host));
    for (int i = 0; i < count; ++i) {
        host[i] = T(i);
    }
    CHECK(hipMemcpy(a, host, sizeof host, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(b, a, sizeof host, hipMemcpyDeviceToDevice));
    add<<<(count + threads - 1) / threads, threads>>>(a, b, c, count);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(host, c, sizeof host, hipMemcpyDeviceToHost));
    for (int i = 0; i < count; ++i) {
        REQUIRE(host[i] == T(2 * i));
    }
    CHECK(hipFree(a));
    CHECK(hipFree(b));
    CHECK(hipFree(c));
}

static void symbols_streams_and_events() {
    float host[count], *x, *y;
    const float four[4] = {1, 2, 3, 4};
    for (float &one : host) {
        one = 1;
    }
    hipStream_t stream;
    hipEvent_t start, stop;
    CHECK(hipStreamCreate(&stream));
    CHECK(hipEventCreate(&start));
    CHECK(hipEventCreate(&stop));
    CHECK(hipMalloc(&x, sizeof host));
    CHECK(hipMalloc(&y, sizeof host));
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(factors), four, sizeof four));
    CHECK(hipEventRecord(start, stream));
    CHECK(hipMemcpyAsync(x, host, sizeof host, hipMemcpyHostToDevice, stream));
    hipLaunchKernelGGL(scale, dim3((count + threads - 1) / threads), dim3(threads), 0, stream, x, count);
    reverse<<<count / 100, 100, 100 * sizeof(float), stream>>>(x, y);
    CHECK(hipMemcpyAsync(host, y, sizeof host, hipMemcpyDeviceToHost, stream));
    int calls = 0;
    CHECK(hipLaunchHostFunc(stream, called, &calls));
    CHECK(hipEventRecord(stop, stream));
    CHECK(hipEventSynchronize(stop));
    CHECK(hipStreamSynchronize(stream));
    float ms = -1;
    CHECK(hipEventElapsedTime(&ms, start, stop));
    REQUIRE(ms >= 0 && calls == 1);
    for (int i = 0; i < count; ++i) {
        REQUIRE(host[i] == four[3 - i % 4]);
    }
    int counted, *place;
    size_t bytes;
    CHECK(hipMemcpyFromSymbol(&counted, HIP_SYMBOL(counter), sizeof counted));
    CHECK(hipGetSymbolAddress((void **)&place, HIP_SYMBOL(counter)));
    CHECK(hipGetSymbolSize(&bytes, HIP_SYMBOL(factors)));
    REQUIRE(counted == count + 5 && bytes == sizeof four);
    CHECK(hipMemcpy(&counted, place, sizeof counted, hipMemcpyDeviceToHost));
    REQUIRE(counted == count + 5);
    CHECK(hipFree(x));
    CHECK(hipFree(y));
    CHECK(hipEventDestroy(start));
    CHECK(hipEventDestroy(stop));
    CHECK(hipStreamDestroy(stream));
}

__global__ void stop() { abort(); }

static void errors() {
    stop<<<1, 1>>>();
    REQUIRE(hipGetLastError() == hipSuccess);
    REQUIRE(hipDeviceSynchronize() == hipErrorAssert);
    REQUIRE(hipGetLastError() == hipErrorAssert && hipDeviceSynchronize() == hipSuccess);
    static int no_symbol;
    void *none;
    REQUIRE(hipMalloc(&none, size_t(1) << 60) == hipErrorOutOfMemory);
    REQUIRE(hipGetLastError() == hipErrorOutOfMemory && hipGetLastError() == hipSuccess);
    tell<<<1, 100000>>>(0);
    REQUIRE(hipGetLastError() == hipErrorInvalidValue);
    REQUIRE(hipMemcpyToSymbol(HIP_SYMBOL(counter), factors, 8) == hipErrorInvalidValue);
    REQUIRE(hipGetSymbolAddress(&none, no_symbol) == hipErrorInvalidSymbol);
}

static void kernels_as_values() {
    int number = 2, blocks, size;
    void *arguments[] = {&number};
    CHECK(hipLaunchKernel(tell, dim3(1), dim3(64), arguments));
    CHECK(hipDeviceSynchronize());
    CHECK(hipOccupancyMaxPotentialBlockSize(&blocks, &size, tell));
    REQUIRE(blocks > 0 && size == 1024);
    hipFuncAttributes attributes;
    CHECK(hipFuncGetAttributes(&attributes, scale));
    REQUIRE(attributes.maxThreadsPerBlock == 1024);
}

int main(int argc, char **) {
    int devices;
    CHECK(hipGetDeviceCount(&devices));
    printf("devices %d", devices);
    for (int device = devices - 1; device >= 0; --device) {
        CHECK(hipSetDevice(device));
        adds<float>();
        adds<double>();
        symbols_streams_and_events();
    }
    printf(", arguments %d\n", argc);
    tell<<<1, 64>>>(1);
    kernels_as_values();
    REQUIRE(shown == 10);
    errors();
    printf("all right\n");
}
