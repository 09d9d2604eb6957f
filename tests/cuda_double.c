// A stand-in for libcuda.so: the CUDA calls that the driver makes, in host memory. It records what arrives and fails on
// demand. As CUDA does, it refuses what is asked without a current context. Kernels are not run.
#define _GNU_SOURCE
#include <dlfcn.h>

#include "double.h"

enum { INVALID_CONTEXT = 201, INVALID_PTX = 218 };
enum { MAX_DEVICES = 8 };

static int contexts[MAX_DEVICES];  // how often each device's primary context was retained
static __thread int *current = NULL;

#define NEEDS_CONTEXT() do { if (!current || !*current) return INVALID_CONTEXT; } while (0)
static int device_of(const int *context) { return (int)(context - contexts); }

// Of each call the bindings ask for the newest form up to their own version: all of them have the name without a suffix.
int cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags, int *status) {
    Dl_info here;
    dladdr((void *)cuGetProcAddress_v2, &here);
    void *library = dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    *function = dlsym(library, symbol);
    dlclose(library);
    if (status) *status = *function ? 0 : 1;
    return *function ? SUCCESS : NOT_FOUND;
}

int cuInit(unsigned flags) { return device_count ? SUCCESS : NO_DEVICE; }
int cuDeviceGetCount(int *count) { *count = device_count; return SUCCESS; }
int cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return ordinal >= 0 && ordinal < device_count ? SUCCESS : INVALID_DEVICE;
}
int cuDeviceGetName(char *name, int size, int device) {
    snprintf(name, (size_t)size, "Double %d", device);
    return SUCCESS;
}
int cuDeviceTotalMem(size_t *bytes, int device) { *bytes = MEMORY_BYTES; return SUCCESS; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    static const int known[][2] = {
        {1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, {5, 2147483647}, {6, 65535}, {7, 65535}, {8, 49152}, {10, 32}, {16, 132}, {75, 9},
        {76, 0},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
        if (known[i][0] == attribute) {
            *value = known[i][1];
            return SUCCESS;
        }
    return INVALID_VALUE;
}

int cuDevicePrimaryCtxRetain(int **context, int device) {
    *context = &contexts[device];
    ++contexts[device];
    return SUCCESS;
}
int cuDevicePrimaryCtxRelease(int device) {
    note("cuDevicePrimaryCtxRelease %d\n", device);
    return contexts[device]-- > 0 ? SUCCESS : INVALID_CONTEXT;
}
int cuCtxSetCurrent(int *context) { current = context; return SUCCESS; }
int cuCtxSynchronize(void) { NEEDS_CONTEXT(); ANSWER_PLANNED(); note("cuCtxSynchronize\n"); return SUCCESS; }

int cuMemAlloc(char **pointer, size_t size) {
    NEEDS_CONTEXT();
    ANSWER_PLANNED();
    *pointer = allocate(size);
    if (!*pointer) return OUT_OF_MEMORY;
    note("cuMemAlloc %zu device %d\n", size, device_of(current));
    return SUCCESS;
}
int cuMemFree(void *pointer) {
    NEEDS_CONTEXT();
    long long size = release(pointer);
    if (size < 0) return INVALID_VALUE;
    note("cuMemFree %lld\n", size);
    return SUCCESS;
}
int cuMemAllocHost(void **pointer, size_t size) {
    NEEDS_CONTEXT();
    ANSWER_PLANNED();
    *pointer = malloc(size);
    note("cuMemAllocHost %zu\n", size);
    return SUCCESS;
}
int cuMemFreeHost(void *pointer) {
    NEEDS_CONTEXT();
    free(pointer);
    note("cuMemFreeHost\n");
    return SUCCESS;
}
int cuMemGetInfo(size_t *available, size_t *total) {
    NEEDS_CONTEXT();
    *available = MEMORY_BYTES - allocated_bytes;
    *total = MEMORY_BYTES;
    return SUCCESS;
}

int cuMemcpyHtoDAsync(char *target, const void *source, size_t size, void *stream) {
    NEEDS_CONTEXT();
    ANSWER_PLANNED();
    if (!fits(target, size)) return INVALID_VALUE;
    note("cuMemcpyHtoDAsync %zu stream %d\n", size, stream != NULL);
    memcpy(target, source, size);
    return SUCCESS;
}
int cuMemcpyDtoHAsync(void *target, const char *source, size_t size, void *stream) {
    NEEDS_CONTEXT();
    ANSWER_PLANNED();
    if (!fits(source, size)) return INVALID_VALUE;
    note("cuMemcpyDtoHAsync %zu stream %d\n", size, stream != NULL);
    memcpy(target, source, size);
    return SUCCESS;
}
int cuMemcpyDtoDAsync(char *target, const char *source, size_t size, void *stream) {
    NEEDS_CONTEXT();
    if (!fits(target, size) || !fits(source, size)) return INVALID_VALUE;
    note("cuMemcpyDtoDAsync %zu stream %d\n", size, stream != NULL);
    memmove(target, source, size);
    return SUCCESS;
}
int cuCtxEnablePeerAccess(int *peer, unsigned flags) {
    NEEDS_CONTEXT();
    ANSWER_PLANNED();
    note("cuCtxEnablePeerAccess device %d to %d\n", device_of(current), device_of(peer));
    return peer == current ? INVALID_VALUE : SUCCESS;
}
int cuMemcpyPeerAsync(char *target, int *to, const char *source, int *from, size_t size, void *stream) {
    NEEDS_CONTEXT();
    ANSWER_PLANNED();
    if (!fits(target, size) || !fits(source, size)) return INVALID_VALUE;
    note("cuMemcpyPeerAsync %zu device %d to %d stream %d\n", size, device_of(from), device_of(to), stream != NULL);
    memmove(target, source, size);
    return SUCCESS;
}
int cuMemsetD8Async(char *target, unsigned char value, size_t size, void *stream) {
    NEEDS_CONTEXT();
    if (!fits(target, size)) return INVALID_VALUE;
    memset(target, value, size);
    note("cuMemsetD8Async %zu stream %d\n", size, stream != NULL);
    return SUCCESS;
}

// A stream and an event know the context that they belong to.
struct stream { int *context; };
struct event { struct timespec at; int *context; };
static int *context_of(const struct stream *stream) { return stream ? stream->context : current; }

int cuStreamCreate(struct stream **stream, unsigned flags) {
    NEEDS_CONTEXT();
    *stream = malloc(sizeof **stream);
    (*stream)->context = current;
    note("cuStreamCreate flags %u\n", flags);
    return SUCCESS;
}
int cuStreamDestroy(struct stream *stream) { free(stream); note("cuStreamDestroy\n"); return SUCCESS; }
int cuStreamSynchronize(struct stream *stream) {
    NEEDS_CONTEXT();
    ANSWER_PLANNED();
    note("cuStreamSynchronize stream %d\n", stream != NULL);
    return SUCCESS;
}
int cuStreamQuery(struct stream *stream) { NEEDS_CONTEXT(); ANSWER_PLANNED(); return SUCCESS; }
int cuStreamWaitEvent(struct stream *stream, struct event *event, unsigned flags) {
    NEEDS_CONTEXT();
    note("cuStreamWaitEvent stream %d\n", stream != NULL);
    return event ? SUCCESS : INVALID_HANDLE;
}
int cuEventCreate(struct event **event, unsigned flags) {
    NEEDS_CONTEXT();
    *event = calloc(1, sizeof **event);
    (*event)->context = current;
    return SUCCESS;
}
int cuEventDestroy(struct event *event) { free(event); note("cuEventDestroy\n"); return SUCCESS; }
int cuEventRecord(struct event *event, struct stream *stream) {
    NEEDS_CONTEXT();
    if (event->context != context_of(stream)) return INVALID_HANDLE;
    note("cuEventRecord stream %d\n", stream != NULL);
    clock_gettime(CLOCK_MONOTONIC, &event->at);
    return SUCCESS;
}
int cuEventQuery(struct event *event) { ANSWER_PLANNED(); return event_ready ? SUCCESS : NOT_READY; }
int cuEventSynchronize(struct event *event) { note("cuEventSynchronize\n"); return SUCCESS; }
int cuEventElapsedTime(float *milliseconds, const struct event *start, const struct event *end) {
    return elapsed(milliseconds, &start->at, &end->at);
}

// CUDA copies the text, which ends in a zero byte.
struct module { char *text; int *context; };

int cuModuleLoadData(struct module **module, const char *image) {
    *module = NULL;
    NEEDS_CONTEXT();
    ANSWER_PLANNED();
    if (!strstr(image, ".version")) return INVALID_PTX;
    *module = malloc(sizeof **module);
    (*module)->text = strdup(image);
    (*module)->context = current;
    note("cuModuleLoadData %zu\n", strlen(image));
    return SUCCESS;
}
int cuModuleUnload(struct module *module) {
    free(module->text);
    free(module);
    note("cuModuleUnload\n");
    return SUCCESS;
}
struct function { const struct module *module; };
int cuModuleGetFunction(struct function **function, const struct module *module, const char *name) {
    *function = NULL;
    char entry[256];
    snprintf(entry, sizeof entry, ".entry %s(", name);
    if (!strstr(module->text, entry)) return NOT_FOUND;
    *function = malloc(sizeof **function);
    (*function)->module = module;
    return SUCCESS;
}

enum { PROGRAMMATIC_STREAM_SERIALIZATION = 6 };
struct attribute { int id; union { char room[64]; void *aligned; int is_on; } value; };
struct configuration {
    unsigned gx, gy, gz, bx, by, bz, shared_bytes;
    struct stream *stream;
    const struct attribute *attributes;
    unsigned attribute_count;
};

int cuLaunchKernelEx(const struct configuration *c, const struct function *function, void **parameters, void **extra) {
    ANSWER_PLANNED();
    NEEDS_CONTEXT();
    if (function->module->context != current || context_of(c->stream) != current) return INVALID_HANDLE;
    if (!c->gx || !c->gy || !c->gz || !c->bx || !c->by || !c->bz || (uint64_t)c->bx * c->by * c->bz > 1024) return INVALID_VALUE;
    int is_early = 0;
    for (unsigned i = 0; i < c->attribute_count; ++i) {
        if (c->attributes[i].id != PROGRAMMATIC_STREAM_SERIALIZATION) return INVALID_VALUE;
        is_early = c->attributes[i].value.is_on;
    }
    uint64_t first;
    if (take_arguments(extra, NULL, &first)) return INVALID_VALUE;
    note("cuLaunchKernelEx grid %u %u %u block %u %u %u shared %u early %d stream %d arguments %zu device %d first %llx\n", c->gx, c->gy,
         c->gz, c->bx, c->by, c->bz, c->shared_bytes, is_early, c->stream != NULL, last_size, device_of(current),
         (unsigned long long)first);
    return SUCCESS;
}

// CUDA_KERNEL_NODE_PARAMS, CUDA_MEMSET_NODE_PARAMS, and of CUDA_MEMCPY3D what the driver sets.
struct kernel_node { const struct function *function; unsigned sizes[7]; void **parameters, **extra; void *kernel; int *context; };
struct memset_node { char *target; size_t pitch; unsigned value, element_bytes; size_t width, height; };
struct place { size_t x, y, z, lod; int kind; void *host; char *device; void *array, *reserved; size_t pitch, height; };
struct copy_node { struct place source, target; size_t width, height, depth; };
enum { DEVICE_MEMORY = 2 };

int cuGraphCreate(struct graph **graph, unsigned flags) {
    NEEDS_CONTEXT();
    *graph = calloc(1, sizeof **graph);
    note("cuGraphCreate\n");
    return SUCCESS;
}
int cuGraphDestroy(struct graph *graph) { free(graph); note("cuGraphDestroy\n"); return SUCCESS; }

static int kernel_step(struct step *step, const struct kernel_node *node) {
    *step = (struct step){.kind = KERNEL, .function = node->function};
    memcpy(step->sizes, node->sizes, sizeof step->sizes);
    if (node->function->module->context != current) return INVALID_HANDLE;
    return node->parameters ? INVALID_VALUE : keep_arguments(step, node->extra, NULL);
}
static int copy_step(struct step *step, const struct copy_node *node, const int *context) {
    *step = (struct step){.kind = COPY, .target = node->target.device, .source = node->source.device, .nbytes = node->width};
    if (node->source.kind != DEVICE_MEMORY || node->target.kind != DEVICE_MEMORY) return INVALID_VALUE;
    return node->height == 1 && node->depth == 1 && context == current ? SUCCESS : INVALID_VALUE;
}
static int fill_step(struct step *step, const struct memset_node *node, const int *context) {
    *step = (struct step){.kind = FILL, .target = node->target, .byte = (int)node->value, .nbytes = node->width};
    return node->element_bytes == 1 && node->height == 1 && context == current ? SUCCESS : INVALID_VALUE;
}

int cuGraphAddKernelNode(struct step **node, struct graph *graph, struct step *const *before, size_t count,
                         const struct kernel_node *what) {
    NEEDS_CONTEXT();
    ANSWER_PLANNED();
    struct step step;
    int status = kernel_step(&step, what);
    return status ? status : add_step(graph, node, before, count, &step);
}
int cuGraphAddMemcpyNode(struct step **node, struct graph *graph, struct step *const *before, size_t count,
                         const struct copy_node *what, const int *context) {
    struct step step;
    int status = copy_step(&step, what, context);
    return status ? status : add_step(graph, node, before, count, &step);
}
int cuGraphAddMemsetNode(struct step **node, struct graph *graph, struct step *const *before, size_t count,
                         const struct memset_node *what, const int *context) {
    struct step step;
    int status = fill_step(&step, what, context);
    return status ? status : add_step(graph, node, before, count, &step);
}
int cuGraphInstantiateWithFlags(struct graph **executable, const struct graph *graph, unsigned long long flags) {
    NEEDS_CONTEXT();
    ANSWER_PLANNED();
    *executable = instantiated(graph);
    return SUCCESS;
}
int cuGraphInstantiate(struct graph **executable, const struct graph *graph, unsigned long long flags) {
    return cuGraphInstantiateWithFlags(executable, graph, flags);
}
int cuGraphExecKernelNodeSetParams(struct graph *executable, const struct step *node, const struct kernel_node *what) {
    struct step step;
    int status = kernel_step(&step, what);
    return status ? status : change_step(executable, node, &step);
}
int cuGraphExecMemcpyNodeSetParams(struct graph *executable, const struct step *node, const struct copy_node *what, const int *context) {
    struct step step;
    int status = copy_step(&step, what, context);
    return status ? status : change_step(executable, node, &step);
}
int cuGraphExecMemsetNodeSetParams(struct graph *executable, const struct step *node, const struct memset_node *what,
                                   const int *context) {
    struct step step;
    int status = fill_step(&step, what, context);
    return status ? status : change_step(executable, node, &step);
}
// A capture gets no steps: other stand-ins do their work at once.
int cuStreamBeginCapture(void *stream, int mode) {
    NEEDS_CONTEXT();
    ANSWER_PLANNED();
    note("cuStreamBeginCapture stream %d mode %d\n", stream != NULL, mode);
    return stream ? SUCCESS : INVALID_VALUE;
}
int cuStreamEndCapture(void *stream, struct graph **graph) {
    NEEDS_CONTEXT();
    *graph = calloc(1, sizeof **graph);
    note("cuStreamEndCapture\n");
    return SUCCESS;
}
int cuGraphAddChildGraphNode(struct step **node, struct graph *graph, struct step *const *before, size_t count,
                            const struct graph *within) {
    struct step step = {.kind = GRAPH};
    return within ? add_step(graph, node, before, count, &step) : INVALID_VALUE;
}
int cuGraphExecChildGraphNodeSetParams(struct graph *executable, const struct step *node, const struct graph *within) {
    struct step step = {.kind = GRAPH};
    return within ? change_step(executable, node, &step) : INVALID_VALUE;
}
int cuGraphLaunch(const struct graph *executable, void *stream) {
    NEEDS_CONTEXT();
    ANSWER_PLANNED();
    note("cuGraphLaunch %zu stream %d device %d\n", executable->count, stream != NULL, device_of(current));
    return run_steps(executable, stream != NULL);
}
int cuGraphExecDestroy(struct graph *executable) { free(executable); note("cuGraphExecDestroy\n"); return SUCCESS; }

int cuGetErrorString(int status, const char **text) { *text = "double"; return SUCCESS; }
