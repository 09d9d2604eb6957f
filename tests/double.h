// What the stand-ins of libamdhip64.so and libcuda.so share: memory in blocks, a log of what arrives, failures on demand.
#pragma once
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    NO_BINARY_FOR_GPU = 209,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
};
enum { BLOCKS = 1 << 16, LOG_BYTES = 1 << 20, ARGUMENT_BYTES = 1 << 12 };
static const size_t MEMORY_BYTES = (size_t)1 << 30;

static int device_count = 0, event_ready = 1, recording = 1;
static struct { char *start; size_t size; } blocks[BLOCKS];
static size_t block_count = 0, allocated_bytes = 0;
static char log_text[LOG_BYTES];
static size_t log_length = 0;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char last_arguments[ARGUMENT_BYTES];
static size_t last_size = 0;
static struct { char call[64]; int status; } planned;

// Controls, called by the tests.
void double_devices(int count) { device_count = count; }
void double_fail(const char *call, int status) {
    snprintf(planned.call, sizeof planned.call, "%s", call);
    planned.status = status;
}
void double_events_ready(int ready) { event_ready = ready; }
void double_recording(int on) { recording = on; }
void double_reset(void) { log_length = 0; log_text[0] = 0; planned.call[0] = 0; event_ready = 1; last_size = 0; }
const char *double_log(void) { return log_text; }
const unsigned char *double_arguments(void) { return last_arguments; }
size_t double_arguments_size(void) { return last_size; }

static void note(const char *format, ...) {
    if (!recording) return;
    pthread_mutex_lock(&log_lock);
    if (log_length > LOG_BYTES - 512) log_length = 0;
    va_list list;
    va_start(list, format);
    log_length += (size_t)vsnprintf(log_text + log_length, 512, format, list);
    va_end(list);
    pthread_mutex_unlock(&log_lock);
}

static int fails(const char *call) {
    if (strcmp(planned.call, call) != 0) return SUCCESS;
    planned.call[0] = 0;
    return planned.status;
}
#define ANSWER_PLANNED() do { int status = fails(__func__); if (status) return status; } while (0)

static size_t find_block(const void *address) {
    for (size_t i = block_count; i-- > 0;)
        if ((const char *)address >= blocks[i].start && (const char *)address < blocks[i].start + blocks[i].size) return i;
    return BLOCKS;
}

static int fits(const void *address, size_t size) {
    size_t i = find_block(address);
    return i < BLOCKS && (const char *)address + size <= blocks[i].start + blocks[i].size;
}

static char *allocate(size_t size) {
    if (size > MEMORY_BYTES - allocated_bytes || block_count == BLOCKS) return NULL;
    char *start = malloc(size ? size : 1);
    blocks[block_count].start = start;
    blocks[block_count++].size = size;
    allocated_bytes += size;
    return start;
}

// The size of the block that was given back, -1 where none begins there.
static long long release(void *start) {
    size_t i = find_block(start);
    if (i == BLOCKS || blocks[i].start != start) return -1;
    size_t size = blocks[i].size;
    allocated_bytes -= size;
    free(start);
    blocks[i] = blocks[--block_count];
    return (long long)size;
}

// What a launch's five words lead to: the argument block, and its first eight bytes.
static int take_arguments(void **extra, void *end, uint64_t *first) {
    last_size = 0;
    *first = 0;
    if (!extra) return SUCCESS;
    if (extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4] != end) return INVALID_VALUE;
    last_size = *(const size_t *)extra[3];
    memcpy(last_arguments, extra[1], last_size < ARGUMENT_BYTES ? last_size : ARGUMENT_BYTES);
    memcpy(first, extra[1], last_size < 8 ? last_size : 8);
    return SUCCESS;
}

static int elapsed(float *milliseconds, const struct timespec *start, const struct timespec *end) {
    if (!event_ready) return NOT_READY;
    if (!start->tv_sec || !end->tv_sec) return INVALID_HANDLE;
    *milliseconds = (float)((end->tv_sec - start->tv_sec) * 1e3 + (end->tv_nsec - start->tv_nsec) * 1e-6);
    return SUCCESS;
}

// A graph's steps; what can be launched is a copy of them. A node's name is its step's address in the graph.
enum { MOST_STEPS = 1024, NODE_ARGUMENT_BYTES = 512 };
struct step {
    enum { KERNEL, COPY, FILL, GRAPH } kind;
    const void *function;
    unsigned sizes[7];
    unsigned char arguments[NODE_ARGUMENT_BYTES];
    size_t argument_bytes;
    char *target;
    const char *source;
    size_t nbytes;
    int byte;
};
struct graph { const struct graph *from; size_t count; struct step steps[MOST_STEPS]; };

static int keep_arguments(struct step *step, void **extra, void *end) {
    uint64_t first;
    if (take_arguments(extra, end, &first) || last_size > NODE_ARGUMENT_BYTES) return INVALID_VALUE;
    memcpy(step->arguments, last_arguments, last_size);
    step->argument_bytes = last_size;
    return SUCCESS;
}

static int add_step(struct graph *graph, struct step **node, struct step *const *before, size_t count, const struct step *step) {
    if (graph->count == MOST_STEPS) return OUT_OF_MEMORY;
    if (graph->count ? count != 1 || before[0] != &graph->steps[graph->count - 1] : count != 0) return INVALID_VALUE;
    *node = &graph->steps[graph->count++];
    **node = *step;
    return SUCCESS;
}

static struct graph *instantiated(const struct graph *graph) {
    struct graph *made = malloc(sizeof *made);
    *made = *graph;
    made->from = graph;
    return made;
}

static int change_step(struct graph *executable, const struct step *node, const struct step *step) {
    size_t place = (size_t)(node - executable->from->steps);
    if (place >= executable->count || executable->steps[place].kind != step->kind) return INVALID_VALUE;
    executable->steps[place] = *step;
    return SUCCESS;
}

static int run_steps(const struct graph *executable, int has_stream) {
    if (!recording) return SUCCESS;  // whoever measures wants an answer at once
    for (const struct step *s = executable->steps; s < executable->steps + executable->count; ++s) {
        if (s->kind == KERNEL) {
            uint64_t first = 0;
            memcpy(&first, s->arguments, 8);
            memcpy(last_arguments, s->arguments, last_size = s->argument_bytes);
            note("node kernel grid %u %u %u block %u %u %u shared %u stream %d arguments %zu first %llx\n", s->sizes[0], s->sizes[1],
                 s->sizes[2], s->sizes[3], s->sizes[4], s->sizes[5], s->sizes[6], has_stream, s->argument_bytes,
                 (unsigned long long)first);
            continue;
        }
        if (s->kind == GRAPH) {
            note("node graph\n");
            continue;
        }
        if (!fits(s->target, s->nbytes) || (s->kind == COPY && !fits(s->source, s->nbytes))) return INVALID_VALUE;
        if (s->kind == COPY) memmove(s->target, s->source, s->nbytes);
        else memset(s->target, s->byte, s->nbytes);
        note("node %s %zu\n", s->kind == COPY ? "copy" : "fill", s->nbytes);
    }
    return SUCCESS;
}
