// HIP's host side: types, constants and calls, for C++ and for the runtime library itself.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#include <rocmkern/vectors.h>
#else
typedef struct dim3 {
    unsigned x, y, z;
} dim3;
#endif

typedef enum hipError_t {
#define RK_ERROR(name, number, meaning) name = number,
#include <rocmkern/errors.inc>
#undef RK_ERROR
    hipErrorMemoryAllocation = 2,
    hipErrorInitializationError = 3,
    hipErrorMapBufferObjectFailed = 205,
    hipErrorInvalidResourceHandle = 400,
} hipError_t;

typedef enum hipMemcpyKind {
    hipMemcpyHostToHost = 0,
    hipMemcpyHostToDevice = 1,
    hipMemcpyDeviceToHost = 2,
    hipMemcpyDeviceToDevice = 3,
    hipMemcpyDefault = 4,
    hipMemcpyDeviceToDeviceNoCU = 1024,
} hipMemcpyKind;

typedef enum hipMemoryType {
    hipMemoryTypeUnregistered = 0,
    hipMemoryTypeHost = 1,
    hipMemoryTypeDevice = 2,
    hipMemoryTypeManaged = 3,
    hipMemoryTypeArray = 10,
    hipMemoryTypeUnified = 11,
} hipMemoryType;

typedef enum hipLimit_t {
    hipLimitStackSize = 0,
    hipLimitPrintfFifoSize = 1,
    hipLimitMallocHeapSize = 2,
} hipLimit_t;

typedef enum hipComputeMode {
    hipComputeModeDefault = 0,
    hipComputeModeExclusive = 1,
    hipComputeModeProhibited = 2,
    hipComputeModeExclusiveProcess = 3,
} hipComputeMode;

typedef enum hipMemPoolAttr {
    hipMemPoolReuseFollowEventDependencies = 1,
    hipMemPoolReuseAllowOpportunistic = 2,
    hipMemPoolReuseAllowInternalDependencies = 3,
    hipMemPoolAttrReleaseThreshold = 4,
    hipMemPoolAttrReservedMemCurrent = 5,
    hipMemPoolAttrReservedMemHigh = 6,
    hipMemPoolAttrUsedMemCurrent = 7,
    hipMemPoolAttrUsedMemHigh = 8,
} hipMemPoolAttr;

typedef enum hipMemAllocationType {
    hipMemAllocationTypeInvalid = 0,
    hipMemAllocationTypePinned = 1,
} hipMemAllocationType;

typedef enum hipMemAllocationHandleType {
    hipMemHandleTypeNone = 0,
    hipMemHandleTypePosixFileDescriptor = 1,
} hipMemAllocationHandleType;

typedef enum hipMemLocationType {
    hipMemLocationTypeInvalid = 0,
    hipMemLocationTypeDevice = 1,
} hipMemLocationType;

typedef struct hipMemLocation {
    hipMemLocationType type;
    int id;
} hipMemLocation;

typedef struct hipMemPoolProps {
    hipMemAllocationType allocType;
    hipMemAllocationHandleType handleTypes;
    hipMemLocation location;
    void *win32SecurityAttributes;
    size_t maxSize;
    unsigned char reserved[56];
} hipMemPoolProps;

typedef enum hipFuncCache_t {
    hipFuncCachePreferNone,
    hipFuncCachePreferShared,
    hipFuncCachePreferL1,
    hipFuncCachePreferEqual,
} hipFuncCache_t;

typedef enum hipSharedMemConfig {
    hipSharedMemBankSizeDefault,
    hipSharedMemBankSizeFourByte,
    hipSharedMemBankSizeEightByte,
} hipSharedMemConfig;

typedef enum hipFuncAttribute {
    hipFuncAttributeMaxDynamicSharedMemorySize = 8,
    hipFuncAttributePreferredSharedMemoryCarveout = 9,
} hipFuncAttribute;

typedef enum hipDeviceAttribute_t {
    hipDeviceAttributeAsyncEngineCount = 2,
    hipDeviceAttributeCanMapHostMemory = 3,
    hipDeviceAttributeClockRate = 5,
    hipDeviceAttributeComputeMode = 6,
    hipDeviceAttributeConcurrentKernels = 8,
    hipDeviceAttributeConcurrentManagedAccess = 9,
    hipDeviceAttributeCooperativeLaunch = 10,
    hipDeviceAttributeCooperativeMultiDeviceLaunch = 11,
    hipDeviceAttributeDirectManagedMemAccessFromHost = 13,
    hipDeviceAttributeHostNativeAtomicSupported = 15,
    hipDeviceAttributeIntegrated = 16,
    hipDeviceAttributeKernelExecTimeout = 18,
    hipDeviceAttributeL2CacheSize = 19,
    hipDeviceAttributeComputeCapabilityMajor = 23,
    hipDeviceAttributeManagedMemory = 24,
    hipDeviceAttributeMaxBlocksPerMultiProcessor = 25,
    hipDeviceAttributeMaxBlockDimX = 26,
    hipDeviceAttributeMaxBlockDimY = 27,
    hipDeviceAttributeMaxBlockDimZ = 28,
    hipDeviceAttributeMaxGridDimX = 29,
    hipDeviceAttributeMaxGridDimY = 30,
    hipDeviceAttributeMaxGridDimZ = 31,
    hipDeviceAttributeMaxThreadsPerBlock = 56,
    hipDeviceAttributeMaxThreadsPerMultiProcessor = 57,
    hipDeviceAttributeMaxPitch = 58,
    hipDeviceAttributeMemoryBusWidth = 59,
    hipDeviceAttributeMemoryClockRate = 60,
    hipDeviceAttributeComputeCapabilityMinor = 61,
    hipDeviceAttributeMultiprocessorCount = 63,
    hipDeviceAttributePageableMemoryAccess = 65,
    hipDeviceAttributePciBusId = 67,
    hipDeviceAttributePciDeviceId = 68,
    hipDeviceAttributeMaxRegistersPerBlock = 71,
    hipDeviceAttributeMaxSharedMemoryPerBlock = 74,
    hipDeviceAttributeTotalConstantMemory = 83,
    hipDeviceAttributeTotalGlobalMem = 84,
    hipDeviceAttributeUnifiedAddressing = 85,
    hipDeviceAttributeWarpSize = 87,
    hipDeviceAttributeMemoryPoolsSupported = 88,
    hipDeviceAttributeMaxSharedMemoryPerMultiprocessor = 10002,
} hipDeviceAttribute_t;

typedef struct hipDeviceArch_t {
    unsigned hasGlobalInt32Atomics : 1;
    unsigned hasGlobalFloatAtomicExch : 1;
    unsigned hasSharedInt32Atomics : 1;
    unsigned hasSharedFloatAtomicExch : 1;
    unsigned hasFloatAtomicAdd : 1;
    unsigned hasGlobalInt64Atomics : 1;
    unsigned hasSharedInt64Atomics : 1;
    unsigned hasDoubles : 1;
    unsigned hasWarpVote : 1;
    unsigned hasWarpBallot : 1;
    unsigned hasWarpShuffle : 1;
    unsigned hasFunnelShift : 1;
    unsigned hasThreadFenceSystem : 1;
    unsigned hasSyncThreadsExt : 1;
    unsigned hasSurfaceFuncs : 1;
    unsigned has3dGrid : 1;
    unsigned hasDynamicParallelism : 1;
} hipDeviceArch_t;

typedef struct hipUUID {
    char bytes[16];
} hipUUID;

// The layout of ROCm 6 and later, whose call has a name of its own.
#define hipDeviceProp_t hipDeviceProp_tR0600
#define hipGetDeviceProperties hipGetDevicePropertiesR0600
typedef struct hipDeviceProp_t {
    char name[256];
    hipUUID uuid;
    char luid[8];
    unsigned luidDeviceNodeMask;
    size_t totalGlobalMem;
    size_t sharedMemPerBlock;
    int regsPerBlock;
    int warpSize;
    size_t memPitch;
    int maxThreadsPerBlock;
    int maxThreadsDim[3];
    int maxGridSize[3];
    int clockRate;
    size_t totalConstMem;
    int major;
    int minor;
    size_t textureAlignment;
    size_t texturePitchAlignment;
    int deviceOverlap;
    int multiProcessorCount;
    int kernelExecTimeoutEnabled;
    int integrated;
    int canMapHostMemory;
    int computeMode;
    int maxTexture1D;
    int maxTexture1DMipmap;
    int maxTexture1DLinear;
    int maxTexture2D[2];
    int maxTexture2DMipmap[2];
    int maxTexture2DLinear[3];
    int maxTexture2DGather[2];
    int maxTexture3D[3];
    int maxTexture3DAlt[3];
    int maxTextureCubemap;
    int maxTexture1DLayered[2];
    int maxTexture2DLayered[3];
    int maxTextureCubemapLayered[2];
    int maxSurface1D;
    int maxSurface2D[2];
    int maxSurface3D[3];
    int maxSurface1DLayered[2];
    int maxSurface2DLayered[3];
    int maxSurfaceCubemap;
    int maxSurfaceCubemapLayered[2];
    size_t surfaceAlignment;
    int concurrentKernels;
    int ECCEnabled;
    int pciBusID;
    int pciDeviceID;
    int pciDomainID;
    int tccDriver;
    int asyncEngineCount;
    int unifiedAddressing;
    int memoryClockRate;
    int memoryBusWidth;
    int l2CacheSize;
    int persistingL2CacheMaxSize;
    int maxThreadsPerMultiProcessor;
    int streamPrioritiesSupported;
    int globalL1CacheSupported;
    int localL1CacheSupported;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor;
    int managedMemory;
    int isMultiGpuBoard;
    int multiGpuBoardGroupID;
    int hostNativeAtomicSupported;
    int singleToDoublePrecisionPerfRatio;
    int pageableMemoryAccess;
    int concurrentManagedAccess;
    int computePreemptionSupported;
    int canUseHostPointerForRegisteredMem;
    int cooperativeLaunch;
    int cooperativeMultiDeviceLaunch;
    size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables;
    int directManagedMemAccessFromHost;
    int maxBlocksPerMultiProcessor;
    int accessPolicyMaxWindowSize;
    size_t reservedSharedMemPerBlock;
    int hostRegisterSupported;
    int sparseHipArraySupported;
    int hostRegisterReadOnlySupported;
    int timelineSemaphoreInteropSupported;
    int memoryPoolsSupported;
    int gpuDirectRDMASupported;
    unsigned gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned memoryPoolSupportedHandleTypes;
    int deferredMappingHipArraySupported;
    int ipcEventSupported;
    int clusterLaunch;
    int unifiedFunctionPointers;
    int reserved[63];
    int hipReserved[32];
    char gcnArchName[256];
    size_t maxSharedMemoryPerMultiProcessor;
    int clockInstructionRate;
    hipDeviceArch_t arch;
    unsigned *hdpMemFlushCntl;
    unsigned *hdpRegFlushCntl;
    int cooperativeMultiDeviceUnmatchedFunc;
    int cooperativeMultiDeviceUnmatchedGridDim;
    int cooperativeMultiDeviceUnmatchedBlockDim;
    int cooperativeMultiDeviceUnmatchedSharedMem;
    int isLargeBar;
    int asicRevision;
} hipDeviceProp_t;

typedef struct hipPointerAttribute_t {
    hipMemoryType type;
    int device;
    void *devicePointer;
    void *hostPointer;
    int isManaged;
    unsigned allocationFlags;
} hipPointerAttribute_t;

typedef struct hipFuncAttributes {
    int binaryVersion;
    int cacheModeCA;
    size_t constSizeBytes;
    size_t localSizeBytes;
    int maxDynamicSharedSizeBytes;
    int maxThreadsPerBlock;
    int numRegs;
    int preferredShmemCarveout;
    int ptxVersion;
    size_t sharedSizeBytes;
} hipFuncAttributes;

typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;
typedef struct ihipModule_t *hipModule_t;
typedef struct ihipModuleSymbol_t *hipFunction_t;
typedef struct ihipGraph *hipGraph_t;
typedef struct hipGraphNode *hipGraphNode_t;
typedef struct hipGraphExec *hipGraphExec_t;
typedef struct ihipMemPoolHandle_t *hipMemPool_t;
typedef void *hipDeviceptr_t;
typedef int hipDevice_t;
typedef void (*hipStreamCallback_t)(hipStream_t stream, hipError_t status, void *passed);
typedef void (*hipHostFn_t)(void *passed);

typedef struct hipKernelNodeParams {
    dim3 blockDim;
    void **extra;
    void *func;
    dim3 gridDim;
    void **kernelParams;
    unsigned sharedMemBytes;
} hipKernelNodeParams;
typedef struct hipMemsetParams {
    void *dst;
    unsigned elementSize;
    size_t height;
    size_t pitch;
    unsigned value;
    size_t width;
} hipMemsetParams;

#define hipStreamDefault 0
#define hipStreamNonBlocking 1
#define hipStreamPerThread ((hipStream_t)2)
#define hipEventDefault 0
#define hipEventBlockingSync 1
#define hipEventDisableTiming 2
#define hipEventInterprocess 4
#define hipHostMallocDefault 0
#define hipHostMallocPortable 1
#define hipHostMallocMapped 2
#define hipHostMallocWriteCombined 4
#define hipHostMallocNumaUser 0x20000000
#define hipHostMallocCoherent 0x40000000
#define hipHostMallocNonCoherent 0x80000000
#define hipHostRegisterDefault 0
#define hipHostRegisterPortable 1
#define hipHostRegisterMapped 2
#define hipMemAttachGlobal 1
#define hipMemAttachHost 2
#define hipDeviceScheduleAuto 0
#define hipDeviceScheduleSpin 1
#define hipDeviceScheduleYield 2
#define hipDeviceScheduleBlockingSync 4
#define hipDeviceMapHost 8
#define hipCpuDeviceId (-1)
#define hipInvalidDeviceId (-2)

#define HIP_LAUNCH_PARAM_BUFFER_POINTER ((void *)1)
#define HIP_LAUNCH_PARAM_BUFFER_SIZE ((void *)2)
#define HIP_LAUNCH_PARAM_END ((void *)3)

#ifdef __cplusplus
extern "C" {
#endif

#define RK_API(name, parameters, arguments) hipError_t name parameters;
#include <rocmkern/api.inc>
#undef RK_API

hipError_t hipGetLastError(void);
hipError_t hipPeekAtLastError(void);
const char *hipGetErrorName(hipError_t error);
const char *hipGetErrorString(hipError_t error);
hipError_t hipDrvGetErrorName(hipError_t error, const char **text);
hipError_t hipDrvGetErrorString(hipError_t error, const char **text);
hipError_t hipLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
                           hipStream_t stream);
hipError_t hipLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                                      unsigned shared_bytes, hipStream_t stream);
hipError_t hipExtLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
                              hipStream_t stream, hipEvent_t start, hipEvent_t stop, int flags);

#ifdef __cplusplus
}

// C++ leaves out what has a usual value, and passes typed pointers, kernels and symbols.
template <typename T>
inline hipError_t hipMalloc(T **address, size_t bytes) {
    return hipMalloc(reinterpret_cast<void **>(address), bytes);
}
template <typename T>
inline hipError_t hipMallocAsync(T **address, size_t bytes, hipStream_t stream) {
    return hipMallocAsync(reinterpret_cast<void **>(address), bytes, stream);
}
template <typename T>
inline hipError_t hipMallocFromPoolAsync(T **address, size_t bytes, hipMemPool_t pool, hipStream_t stream) {
    return hipMallocFromPoolAsync(reinterpret_cast<void **>(address), bytes, pool, stream);
}
template <typename T>
inline hipError_t hipMallocManaged(T **address, size_t bytes, unsigned flags = hipMemAttachGlobal) {
    return hipMallocManaged(reinterpret_cast<void **>(address), bytes, flags);
}
template <typename T>
inline hipError_t hipMallocPitch(T **address, size_t *pitch, size_t width, size_t height) {
    return hipMallocPitch(reinterpret_cast<void **>(address), pitch, width, height);
}
template <typename T>
inline hipError_t hipHostMalloc(T **address, size_t bytes, unsigned flags = hipHostMallocDefault) {
    return hipHostMalloc(reinterpret_cast<void **>(address), bytes, flags);
}
template <typename T>
inline hipError_t hipHostAlloc(T **address, size_t bytes, unsigned flags = hipHostMallocDefault) {
    return hipHostAlloc(reinterpret_cast<void **>(address), bytes, flags);
}
template <typename T>
inline hipError_t hipMallocHost(T **address, size_t bytes) {
    return hipMallocHost(reinterpret_cast<void **>(address), bytes);
}
template <typename T>
inline hipError_t hipHostGetDevicePointer(T **device, void *host, unsigned flags = 0) {
    return hipHostGetDevicePointer(reinterpret_cast<void **>(device), host, flags);
}
inline hipError_t hipMemcpyAsync(void *to, const void *from, size_t bytes, hipMemcpyKind kind) {
    return hipMemcpyAsync(to, from, bytes, kind, nullptr);
}
inline hipError_t hipMemsetAsync(void *to, int byte, size_t bytes) { return hipMemsetAsync(to, byte, bytes, nullptr); }
inline hipError_t hipEventRecord(hipEvent_t event) { return hipEventRecord(event, nullptr); }
inline hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event) {
    return hipStreamWaitEvent(stream, event, 0);
}
inline hipError_t hipMemPrefetchAsync(const void *address, size_t bytes, int device) {
    return hipMemPrefetchAsync(address, bytes, device, nullptr);
}
template <typename T>
inline hipError_t hipMemcpyToSymbol(const T &symbol, const void *from, size_t bytes, size_t offset = 0,
                                    hipMemcpyKind kind = hipMemcpyHostToDevice) {
    return hipMemcpyToSymbol(reinterpret_cast<const void *>(&symbol), from, bytes, offset, kind);
}
template <typename T>
inline hipError_t hipMemcpyFromSymbol(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                                      hipMemcpyKind kind = hipMemcpyDeviceToHost) {
    return hipMemcpyFromSymbol(to, reinterpret_cast<const void *>(&symbol), bytes, offset, kind);
}
template <typename T>
inline hipError_t hipGetSymbolAddress(void **address, const T &symbol) {
    return hipGetSymbolAddress(address, reinterpret_cast<const void *>(&symbol));
}
template <typename T>
inline hipError_t hipGetSymbolSize(size_t *bytes, const T &symbol) {
    return hipGetSymbolSize(bytes, reinterpret_cast<const void *>(&symbol));
}
#define HIP_SYMBOL(symbol) symbol
template <typename... P>
inline hipError_t hipFuncGetAttributes(hipFuncAttributes *attributes, void (*kernel)(P...)) {
    return hipFuncGetAttributes(attributes, reinterpret_cast<const void *>(kernel));
}
template <typename... P>
inline hipError_t hipFuncSetAttribute(void (*kernel)(P...), hipFuncAttribute attribute, int value) {
    return hipFuncSetAttribute(reinterpret_cast<const void *>(kernel), attribute, value);
}
template <typename... P>
inline hipError_t hipLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block, void **arguments,
                                  size_t shared_bytes = 0, hipStream_t stream = nullptr) {
    return hipLaunchKernel(reinterpret_cast<const void *>(kernel), grid, block, arguments, shared_bytes, stream);
}
template <typename... P>
inline hipError_t hipLaunchCooperativeKernel(void (*kernel)(P...), dim3 grid, dim3 block, void **arguments,
                                             unsigned shared_bytes = 0, hipStream_t stream = nullptr) {
    return hipLaunchCooperativeKernel(reinterpret_cast<const void *>(kernel), grid, block, arguments, shared_bytes,
                                      stream);
}
template <typename... P>
inline hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void (*kernel)(P...), int threads,
                                                               size_t shared_bytes) {
    return hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, reinterpret_cast<const void *>(kernel), threads,
                                                        shared_bytes);
}
template <typename... P>
inline hipError_t hipOccupancyMaxPotentialBlockSize(int *blocks, int *threads, void (*kernel)(P...),
                                                    size_t shared_bytes = 0, int most = 0) {
    return hipOccupancyMaxPotentialBlockSize(blocks, threads, reinterpret_cast<const void *>(kernel), shared_bytes, most);
}
#endif
