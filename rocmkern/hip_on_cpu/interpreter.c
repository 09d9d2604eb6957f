// The interpreter that answers the calls: that of the process, or one that is started for a compiled program.
#include "library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static const char answering[] = "from rocmkern.hip_on_cpu import programs; programs.answer()";
static const char sharing[] = "programs.share_output()";
static const char preparing[] = "programs.load_compiler()";
static const char ending[] = "programs.end()";
static const char with_packages[] = "import os, sys; sys.path[:] = os.environ['ROCMKERN_HIP_PATH'].split(os.pathsep)";

// Python's functions, from the process or from the library that the environment names.
static void *from(void *python, const char *name) {
    void *found = dlsym(python, name);
    if (!found) {
        fprintf(stderr, "hip_on_cpu: no %s in Python's library\n", name);
        abort();
    }
    return found;
}

static void run(void *python, const char *text) {
    int (*run_text)(const char *) = (int (*)(const char *))from(python, "PyRun_SimpleString");
    if (run_text(text)) {
        fprintf(stderr, "hip_on_cpu: the interpreter answers no calls\n");
    }
}

// As the program ends: what compiles in the background must have ended before the compiler's own destructors run.
static void end(void) {
    const int state = ((int (*)(void))from(RTLD_DEFAULT, "PyGILState_Ensure"))();
    run(RTLD_DEFAULT, ending);
    ((void (*)(int))from(RTLD_DEFAULT, "PyGILState_Release"))(state);
}

// Starts it, with the packages of the one that `rocmkern run-hip` ran in.
static void begin(void *python) {
    const char *const home = getenv("ROCMKERN_HIP_HOME"), *const before = getenv("PYTHONHOME");
    if (home) {
        setenv("PYTHONHOME", home, 1);
    }
    ((void (*)(int))from(python, "Py_InitializeEx"))(0);
    if (home && before) {
        setenv("PYTHONHOME", before, 1);
    } else if (home) {
        unsetenv("PYTHONHOME");
    }
    if (getenv("ROCMKERN_HIP_PATH")) {
        run(python, with_packages);
    }
    run(python, answering);
    run(python, sharing);
    run(python, preparing);
    atexit(end);  // behind the compiler's, so it runs ahead of them
    ((void *(*)(void))from(python, "PyEval_SaveThread"))();  // other threads call too
}

static void require(void) {
    void *python = dlsym(RTLD_DEFAULT, "Py_IsInitialized") ? RTLD_DEFAULT : NULL;
    const char *const library = getenv("ROCMKERN_HIP_PYTHON");
    if (!python && library) {
        python = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
        if (!python) {
            fprintf(stderr, "hip_on_cpu: %s\n", dlerror());
            return;
        }
    }
    if (!python) {
        fprintf(stderr, "hip_on_cpu: no interpreter answers; start the program by `rocmkern run-hip`\n");
        return;
    }
    if (!((int (*)(void))from(python, "Py_IsInitialized"))()) {
        begin(python);
        return;
    }
    const int state = ((int (*)(void))from(python, "PyGILState_Ensure"))();
    run(python, answering);
    ((void (*)(int))from(python, "PyGILState_Release"))(state);
}

void rk_require_interpreter(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, require);
}
