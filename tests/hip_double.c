// A stand-in for libamdhip64.so: the HIP calls that the driver makes, in host memory. It records what arrives, answers as
// the real runtime was seen to answer, and fails on demand. Kernels are not run.
#include "double.h"

static int current_device = 0;
static char architecture[256] = "gfx942:sramecc+:xnack-";
static int machine = 0x4c, generic_machine = 0x5f;

void double_architecture(const char *name, int mach, int generic) {
    snprintf(architecture, sizeof architecture, "%s", name);
    machine = mach;
    generic_machine = generic;
}

int hipRuntimeGetVersion(int *version) {
    *version = 60342134; // 6.3.42134
    return SUCCESS;
}

int hipGetDeviceCount(int *count) {
    *count = device_count;
    return device_count ? SUCCESS : NO_DEVICE;
}

// Offsets of hipDeviceProp_tR0600.
int hipGetDevicePropertiesR0600(char *properties, int device) {
    if (device < 0 || device >= device_count) return INVALID_DEVICE;
    memset(properties, 0, 1472);
    snprintf(properties, 256, "Double %d", device);
    *(size_t *)(properties + 288) = MEMORY_BYTES;
    *(size_t *)(properties + 296) = 65536;
    *(int *)(properties + 308) = 64;
    *(int *)(properties + 320) = 1024;
    for (int axis = 0; axis < 3; ++axis) ((int *)(properties + 324))[axis] = 1024;
    ((int *)(properties + 336))[0] = 2147483647;
    ((int *)(properties + 336))[1] = ((int *)(properties + 336))[2] = 65536;
    *(int *)(properties + 388) = 304;
    snprintf(properties + 1160, 256, "%s", architecture);
    return SUCCESS;
}

int hipSetDevice(int device) {
    if (device < 0 || device >= device_count) return INVALID_DEVICE;
    current_device = device;
    return SUCCESS;
}

int hipMalloc(void **pointer, size_t size) {
    *pointer = NULL;
    ANSWER_PLANNED();
    *pointer = allocate(size);
    if (!*pointer) return OUT_OF_MEMORY;
    note("hipMalloc %zu device %d\n", size, current_device);
    return SUCCESS;
}

int hipFree(void *pointer) {
    ANSWER_PLANNED();
    if (!pointer) return SUCCESS;
    long long size = release(pointer);
    if (size < 0) return INVALID_VALUE;
    note("hipFree %lld\n", size);
    return SUCCESS;
}

int hipHostMalloc(void **pointer, size_t size, unsigned flags) {
    *pointer = NULL;
    ANSWER_PLANNED();
    *pointer = malloc(size);
    note("hipHostMalloc %zu\n", size);
    return SUCCESS;
}

int hipHostFree(void *pointer) {
    free(pointer);
    note("hipHostFree\n");
    return SUCCESS;
}

int hipMemGetInfo(size_t *available, size_t *total) {
    *available = MEMORY_BYTES - allocated_bytes;
    *total = MEMORY_BYTES;
    return SUCCESS;
}

static int copy(void *target, const void *source, size_t size, int kind) {
    int to_device = kind == 1 || kind == 3, from_device = kind == 2 || kind == 3;
    if ((to_device && !fits(target, size)) || (from_device && !fits(source, size))) return INVALID_VALUE;
    memmove(target, source, size);
    return SUCCESS;
}

int hipMemcpy(void *target, const void *source, size_t size, int kind) {
    ANSWER_PLANNED();
    note("hipMemcpy %zu kind %d\n", size, kind);
    return copy(target, source, size, kind);
}

int hipMemcpyAsync(void *target, const void *source, size_t size, int kind, void *stream) {
    ANSWER_PLANNED();
    note("hipMemcpyAsync %zu kind %d stream %d\n", size, kind, stream != NULL);
    return copy(target, source, size, kind);
}

int hipDeviceEnablePeerAccess(int peer, unsigned flags) {
    ANSWER_PLANNED();
    note("hipDeviceEnablePeerAccess device %d to %d\n", current_device, peer);
    return peer == current_device ? INVALID_VALUE : SUCCESS;
}
int hipMemcpyPeerAsync(void *target, int to, const void *source, int from, size_t size, void *stream) {
    ANSWER_PLANNED();
    if (!fits(target, size) || !fits(source, size)) return INVALID_VALUE;
    note("hipMemcpyPeerAsync %zu device %d to %d stream %d\n", size, from, to, stream != NULL);
    memmove(target, source, size);
    return SUCCESS;
}

int hipMemsetAsync(void *target, int value, size_t size, void *stream) {
    if (!fits(target, size)) return INVALID_VALUE;
    memset(target, value, size);
    note("hipMemsetAsync %zu stream %d\n", size, stream != NULL);
    return SUCCESS;
}

int hipStreamCreate(void **stream) { *stream = malloc(16); note("hipStreamCreate\n"); return SUCCESS; }
int hipStreamDestroy(void *stream) { free(stream); note("hipStreamDestroy\n"); return SUCCESS; }
int hipStreamSynchronize(void *stream) {
    ANSWER_PLANNED();
    note("hipStreamSynchronize stream %d\n", stream != NULL);
    return SUCCESS;
}
int hipStreamQuery(void *stream) { ANSWER_PLANNED(); return SUCCESS; }
int hipStreamWaitEvent(void *stream, void *event, unsigned flags) {
    note("hipStreamWaitEvent stream %d\n", stream != NULL);
    return event ? SUCCESS : INVALID_HANDLE;
}
int hipDeviceSynchronize(void) { ANSWER_PLANNED(); note("hipDeviceSynchronize\n"); return SUCCESS; }

int hipEventCreate(void **event) { *event = calloc(1, sizeof(struct timespec)); return SUCCESS; }
int hipEventDestroy(void *event) { free(event); note("hipEventDestroy\n"); return SUCCESS; }
int hipEventRecord(void *event, void *stream) {
    note("hipEventRecord stream %d\n", stream != NULL);
    clock_gettime(CLOCK_MONOTONIC, event);
    return SUCCESS;
}
int hipEventQuery(void *event) { ANSWER_PLANNED(); return event_ready ? SUCCESS : NOT_READY; }
int hipEventSynchronize(void *event) { note("hipEventSynchronize\n"); return SUCCESS; }
int hipEventElapsedTime(float *milliseconds, const struct timespec *start, const struct timespec *end) {
    return elapsed(milliseconds, start, end);
}

int hipModuleLoadData(const void **module, const unsigned char *image) {
    *module = NULL;
    ANSWER_PLANNED();
    if (memcmp(image, "\x7f" "ELF", 4) != 0) return INVALID_IMAGE;
    int found = image[48];
    if (found != machine && found != generic_machine) return NO_BINARY_FOR_GPU;
    *module = image;  // as HIP does, it reads the image later: the driver must keep the bytes
    note("hipModuleLoadData machine %#x\n", found);
    return SUCCESS;
}

int hipModuleUnload(const void *module) { note("hipModuleUnload\n"); return SUCCESS; }

int hipModuleGetFunction(const void **function, const unsigned char *image, const char *name) {
    *function = NULL;
    uint64_t sections = *(const uint64_t *)(image + 40);
    unsigned count = *(const uint16_t *)(image + 60);
    for (unsigned i = 0; i < count; ++i) {
        const unsigned char *section = image + sections + 64 * i;
        if (*(const uint32_t *)(section + 4) != 11) continue;  // SHT_DYNSYM
        const unsigned char *symbol = image + *(const uint64_t *)(section + 24);
        const unsigned char *end = symbol + *(const uint64_t *)(section + 32);
        const unsigned char *link = image + sections + 64 * *(const uint32_t *)(section + 40);
        const char *names = (const char *)image + *(const uint64_t *)(link + 24);
        for (; symbol < end; symbol += 24)
            if (strcmp(names + *(const uint32_t *)symbol, name) == 0) {
                *function = symbol;
                return SUCCESS;
            }
    }
    return NOT_FOUND;
}

int hipModuleLaunchKernel(const void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared_bytes, void *stream, void **parameters, void **extra) {
    ANSWER_PLANNED();
    if (!gx || !gy || !gz || !bx || !by || !bz || (uint64_t)bx * by * bz > 1024 || shared_bytes > 65536) return INVALID_VALUE;
    uint64_t first;
    if (take_arguments(extra, (void *)3, &first)) return INVALID_VALUE;
    note("hipModuleLaunchKernel grid %u %u %u block %u %u %u shared %u stream %d arguments %zu device %d first %llx\n", gx, gy, gz, bx,
         by, bz, shared_bytes, stream != NULL, last_size, current_device, (unsigned long long)first);
    return SUCCESS;
}

struct kernel_node { unsigned block[3]; void **extra; const void *function; unsigned grid[3]; void **parameters; unsigned shared_bytes; };
struct memset_node { char *target; unsigned element_bytes; size_t height, pitch; unsigned value; size_t width; };

int hipGraphCreate(struct graph **graph, unsigned flags) {
    *graph = calloc(1, sizeof **graph);
    note("hipGraphCreate\n");
    return SUCCESS;
}
int hipGraphDestroy(struct graph *graph) { free(graph); note("hipGraphDestroy\n"); return SUCCESS; }

static int kernel_step(struct step *step, const struct kernel_node *node) {
    *step = (struct step){.kind = KERNEL, .function = node->function, .sizes = {node->grid[0], node->grid[1], node->grid[2],
                          node->block[0], node->block[1], node->block[2], node->shared_bytes}};
    return node->parameters ? INVALID_VALUE : keep_arguments(step, node->extra, (void *)3);
}
static int copy_step(struct step *step, char *target, const char *source, size_t size, int kind) {
    *step = (struct step){.kind = COPY, .target = target, .source = source, .nbytes = size};
    return kind == 3 ? SUCCESS : INVALID_VALUE;
}
static int fill_step(struct step *step, const struct memset_node *node) {
    *step = (struct step){.kind = FILL, .target = node->target, .byte = (int)node->value, .nbytes = node->width};
    return node->element_bytes == 1 && node->height == 1 ? SUCCESS : INVALID_VALUE;
}

int hipGraphAddKernelNode(struct step **node, struct graph *graph, struct step *const *before, size_t count,
                          const struct kernel_node *what) {
    ANSWER_PLANNED();
    struct step step;
    int status = kernel_step(&step, what);
    return status ? status : add_step(graph, node, before, count, &step);
}
int hipGraphAddMemcpyNode1D(struct step **node, struct graph *graph, struct step *const *before, size_t count, void *target,
                            const void *source, size_t size, int kind) {
    struct step step;
    int status = copy_step(&step, target, source, size, kind);
    return status ? status : add_step(graph, node, before, count, &step);
}
int hipGraphAddMemsetNode(struct step **node, struct graph *graph, struct step *const *before, size_t count,
                          const struct memset_node *what) {
    struct step step;
    int status = fill_step(&step, what);
    return status ? status : add_step(graph, node, before, count, &step);
}
int hipGraphInstantiateWithFlags(struct graph **executable, const struct graph *graph, unsigned long long flags) {
    ANSWER_PLANNED();
    *executable = instantiated(graph);
    return SUCCESS;
}
int hipGraphExecKernelNodeSetParams(struct graph *executable, const struct step *node, const struct kernel_node *what) {
    struct step step;
    int status = kernel_step(&step, what);
    return status ? status : change_step(executable, node, &step);
}
int hipGraphExecMemcpyNodeSetParams1D(struct graph *executable, const struct step *node, void *target, const void *source, size_t size,
                                      int kind) {
    struct step step;
    int status = copy_step(&step, target, source, size, kind);
    return status ? status : change_step(executable, node, &step);
}
int hipGraphExecMemsetNodeSetParams(struct graph *executable, const struct step *node, const struct memset_node *what) {
    struct step step;
    int status = fill_step(&step, what);
    return status ? status : change_step(executable, node, &step);
}
// A capture gets no steps: other stand-ins do their work at once.
int hipStreamBeginCapture(void *stream, int mode) {
    note("hipStreamBeginCapture stream %d mode %d\n", stream != NULL, mode);
    return stream ? SUCCESS : INVALID_VALUE;
}
int hipStreamEndCapture(void *stream, struct graph **graph) {
    *graph = calloc(1, sizeof **graph);
    note("hipStreamEndCapture\n");
    return SUCCESS;
}
int hipGraphAddChildGraphNode(struct step **node, struct graph *graph, struct step *const *before, size_t count,
                            const struct graph *within) {
    struct step step = {.kind = GRAPH};
    return within ? add_step(graph, node, before, count, &step) : INVALID_VALUE;
}
int hipGraphExecChildGraphNodeSetParams(struct graph *executable, const struct step *node, const struct graph *within) {
    struct step step = {.kind = GRAPH};
    return within ? change_step(executable, node, &step) : INVALID_VALUE;
}
int hipGraphLaunch(const struct graph *executable, void *stream) {
    ANSWER_PLANNED();
    note("hipGraphLaunch %zu stream %d device %d\n", executable->count, stream != NULL, current_device);
    return run_steps(executable, stream != NULL);
}
int hipGraphExecDestroy(struct graph *executable) { free(executable); note("hipGraphExecDestroy\n"); return SUCCESS; }

const char *hipGetErrorString(int status) { return "double"; }
