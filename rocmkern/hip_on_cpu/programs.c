// What compiled C++ programs begin and launch with: their code registers itself before main.
#include "library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC 0x48495046  // "HIPF"

// What the compiler lays beside the code of a source.
struct wrapper {
    unsigned magic;
    unsigned version;
    const void *image;
    const void *unused;
};

struct table {
    struct rk_symbol *rows;
    int count;
};

static struct table functions, variables, managed;

static void add(struct table *table, const struct wrapper *code, const void *host, const char *name) {
    if ((table->count & (table->count - 1)) == 0) {  // full at each power of two
        const size_t room = table->count ? 2 * (size_t)table->count : 1;
        table->rows = realloc(table->rows, room * sizeof *table->rows);
        if (!table->rows) {
            abort();
        }
    }
    table->rows[table->count++] = (struct rk_symbol){host, name, code->image};
}

static const struct rk_symbol *find(const struct table *table, const void *host) {
    for (int i = 0; i < table->count; ++i) {
        if (table->rows[i].host == host) {
            return &table->rows[i];
        }
    }
    return NULL;
}

// The kernel or the variable at a host address; null where none was registered.
const struct rk_symbol *rk_symbol(const void *host) {
    const struct rk_symbol *found = find(&functions, host);
    return found ? found : find(&variables, host);
}

// The managed variables of a piece of code, by number.
const struct rk_symbol *rk_managed(const void *image, int number) {
    for (int i = 0; i < managed.count; ++i) {
        if (managed.rows[i].image == image && number-- == 0) {
            return &managed.rows[i];
        }
    }
    return NULL;
}

// A program's text, in its order: standard output is the C library's.
void rk_print(const char *text, size_t bytes) {
    fwrite(text, 1, bytes, stdout);
    fflush(stdout);
}

const void **__hipRegisterFatBinary(const void *code) {
    const struct wrapper *wrapper = code;
    if (wrapper->magic != MAGIC) {
        fprintf(stderr, "hip_on_cpu: __hipRegisterFatBinary: code of another kind, %#x\n", wrapper->magic);
        abort();
    }
    return (const void **)code;
}

void __hipRegisterFunction(const void **code, const void *host, char *name, const char *device_name, unsigned threads,
                           void *thread, void *block, void *block_dim, void *grid_dim, int *wave) {
    (void)name, (void)threads, (void)thread, (void)block, (void)block_dim, (void)grid_dim, (void)wave;
    add(&functions, (const struct wrapper *)code, host, device_name);
}

void __hipRegisterVar(const void **code, void *host, char *name, char *device_name, int is_external, size_t bytes,
                      int is_constant, int is_global) {
    (void)name, (void)is_external, (void)bytes, (void)is_constant, (void)is_global;
    add(&variables, (const struct wrapper *)code, host, device_name);
}

// The host reads the variable through a pointer, which code on a device finds under the variable's name.
void __hipRegisterManagedVar(const void **code, void **pointer, void *first, const char *name, size_t bytes,
                             unsigned alignment) {
    (void)alignment;
    if (hipMallocManaged(pointer, bytes, hipMemAttachGlobal) == hipSuccess) {
        memcpy(*pointer, first, bytes);
        add(&managed, (const struct wrapper *)code, pointer, name);
    }
}

void __hipRegisterTexture(const void **code, const void *host, char *name, char *device_name, int kind, int is_normalized,
                          int is_external) {
    (void)code, (void)host, (void)device_name, (void)kind, (void)is_normalized, (void)is_external;
    fprintf(stderr, "hip_on_cpu: the texture %s is not supported\n", name);
}

void __hipRegisterSurface(const void **code, const void *host, char *name, char *device_name, int kind, int is_external) {
    (void)code, (void)host, (void)device_name, (void)kind, (void)is_external;
    fprintf(stderr, "hip_on_cpu: the surface %s is not supported\n", name);
}

// At the end of the process, whose memory goes with it: streams may still be at work.
void __hipUnregisterFatBinary(const void **code) {
    (void)code;
    if (functions.count) {
        functions.count = 0;
        hipDeviceSynchronize();
    }
}

// `kernel<<<…>>>(…)` keeps its geometry here until the kernel's host function takes it.
struct configuration {
    dim3 grid, block;
    size_t shared_bytes;
    hipStream_t stream;
};
enum { DEEPEST = 16 };
static __thread struct configuration waiting[DEEPEST];
static __thread int depth;

hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, hipStream_t stream) {
    if (depth == DEEPEST) {
        return rk_noted(hipErrorOutOfMemory);
    }
    waiting[depth++] = (struct configuration){grid, block, shared_bytes, stream};
    return hipSuccess;
}

hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, hipStream_t *stream) {
    if (!depth) {
        return rk_noted(hipErrorMissingConfiguration);
    }
    const struct configuration *taken = &waiting[--depth];
    *grid = taken->grid;
    *block = taken->block;
    *shared_bytes = taken->shared_bytes;
    *stream = taken->stream;
    return hipSuccess;
}

hipError_t hipLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
                           hipStream_t stream) {
    hipFunction_t found;
    const hipError_t status = hipGetFuncBySymbol(&found, function);
    return status ? status
                  : hipModuleLaunchKernel(found, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                          (unsigned)shared_bytes, stream, arguments, NULL);
}

hipError_t hipLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                                      unsigned shared_bytes, hipStream_t stream) {
    return hipLaunchKernel(function, grid, block, arguments, shared_bytes, stream);
}

hipError_t hipExtLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
                              hipStream_t stream, hipEvent_t start, hipEvent_t stop, int flags) {
    (void)flags;
    hipError_t status = start ? hipEventRecord(start, stream) : hipSuccess;
    if (!status) {
        status = hipLaunchKernel(function, grid, block, arguments, shared_bytes, stream);
    }
    return status || !stop ? status : hipEventRecord(stop, stream);
}
