// A stand-in for libhiprtc.so: it records what is compiled and how, and answers with the code or the log that it was given.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, COMPILATION_FAILED = 6, LOG_BYTES = 1 << 16 };

static char *code = NULL, log_text[LOG_BYTES], seen[LOG_BYTES];
static size_t code_size = 0;

// Controls, called by the tests. Without code every compilation fails with the log.
void rtc_answer(const char *bytes, size_t size, const char *log) {
    free(code);
    code = malloc(size + 1);
    memcpy(code, bytes, size);
    code_size = size;
    snprintf(log_text, sizeof log_text, "%s", log);
    seen[0] = 0;
}
const char *rtc_seen(void) { return seen; }

static void note(const char *text) { snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%s\n", text); }

int hiprtcVersion(int *major, int *minor) { *major = 9; *minor = 1; return SUCCESS; }
int hiprtcCreateProgram(void **program, const char *source, const char *name, int headers, const char *const *texts,
                        const char *const *names) {
    *program = malloc(16);
    note(name);
    note(source);
    return SUCCESS;
}
int hiprtcCompileProgram(void *program, int count, const char *const *options) {
    for (int i = 0; i < count; ++i) note(options[i]);
    return code_size ? SUCCESS : COMPILATION_FAILED;
}
int hiprtcGetProgramLogSize(void *program, size_t *size) { *size = strlen(log_text) + 1; return SUCCESS; }
int hiprtcGetProgramLog(void *program, char *log) { strcpy(log, log_text); return SUCCESS; }
int hiprtcGetCodeSize(void *program, size_t *size) { *size = code_size; return SUCCESS; }
int hiprtcGetCode(void *program, char *out) { memcpy(out, code, code_size); return SUCCESS; }
int hiprtcDestroyProgram(void **program) { free(*program); note("destroyed"); return SUCCESS; }
const char *hiprtcGetErrorString(int status) { return status ? "failed" : "ok"; }
