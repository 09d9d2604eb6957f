"""Compiled C++ programs: built without ROCm, and run on emulated devices."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rocmkern.build import hip_source, host_program
from rocmkern.emulator.program import COMPILER
from rocmkern.errors import BuildError
from rocmkern.hip_on_cpu import library, programs

ROOT = Path(__file__).parents[2]
ONE = """
#include <hip/hip_runtime.h>

__global__ void one(int *x) { *x += ADDED; }
void first(int *x) { one<<<1, 1>>>(x); }
"""
TWO = """
#include <hip/hip_runtime.h>

#include <iostream>

static __global__ void one(int *x) { *x *= 3; }
void first(int *x);
extern "C" int third();

int main() {
    int *x, host = 1;
    (void)hipMalloc(&x, 4);
    (void)hipMemcpy(x, &host, 4, hipMemcpyHostToDevice);
    first(x);
    one<<<1, 1>>>(x);
    (void)hipMemcpy(&host, x, 4, hipMemcpyDeviceToHost);
    std::cout << host + third() << std::endl;
}
"""


def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)


def rocmkern(*words: str) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, "-m", "rocmkern", *words)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("program") / "program"
    source = str(ROOT / "tests" / "data" / "host_program.hip")
    done = rocmkern("hipcc", "-Wall", "-Wextra", "--offload-arch=gfx942,gfx1100", source, "-o", str(made))
    assert done.returncode == 0 and not done.stderr, done.stderr
    return made


def test_program_runs_on_two_devices(program: Path) -> None:
    """Templates, symbols, managed memory, streams, events, shared memory, atomics, and what kernels print in its place
    among what the host prints.
    """
    done = rocmkern("run-hip", "--device", "gfx942", "--device", "gfx1100", str(program), "one", "two")
    assert done.stdout == "devices 2, arguments 3\nkernel 1\nkernel 2\nall right\n", done.stderr


def test_program_without_code_for_the_device_is_told(program: Path) -> None:
    """By HIP's status, and in full on stderr."""
    done = rocmkern("run-hip", "--device", "gfx90a", str(program))
    assert done.returncode == 1 and "no kernel image is available" in done.stdout
    assert "gfx90a" in done.stderr


def test_program_that_nobody_started_says_how(program: Path) -> None:
    """Without `run-hip` there is no interpreter that could answer, and calls say so once."""
    done = run(str(program), LD_LIBRARY_PATH=str(library.compiled().parent))
    assert done.returncode == 1 and "operation not supported" in done.stdout
    assert done.stderr.count("start the program by `rocmkern run-hip`") == 1


def test_objects_are_linked(tmp_path: Path) -> None:
    """Of C, and of C++ with the standard library and a kernel in each of two files."""
    texts = {"one.hip": ONE, "two.hip": TWO, "three.c": "int third(void) { return 100; }\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        made = rocmkern("hipcc", "-DADDED=4", "-c", str(tmp_path / name), "-o", str(tmp_path / f"{name}.o"))
        assert made.returncode == 0, made.stderr
    assert rocmkern("hipcc", *(f"{tmp_path / name}.o" for name in texts), "-o", str(tmp_path / "all")).returncode == 0
    assert rocmkern("run-hip", str(tmp_path / "all")).stdout == "115\n"


def test_a_program_ends_when_nothing_compiles() -> None:
    """What its end calls waits for the compiler in the background: LLVM's tables go behind it."""
    ended = list[bool]()
    COMPILER.submit(lambda: (time.sleep(0.3), ended.append(True)))
    programs.end()
    assert ended == [True]


def test_words_are_sorted() -> None:
    """Those for the compiler, the linker and both."""
    words = (
        "-O3",
        "-I",
        "inc",
        "-DX=1",
        "a.cu",
        "b.o",
        "-lm",
        "-L",
        "lib",
        "-o",
        "prog",
        "-fopenmp",
        "--offload-arch=gfx90a:xnack-",
    )
    found = host_program.parse(words)
    assert (found.sources, found.objects, found.output) == ((Path("a.cu"),), ("b.o",), Path("prog"))
    assert found.compiling == ("-O3", "-I", "inc", "-DX=1") and found.linking == ("-lm", "-L", "lib")
    assert found.targets == ("gfx90a",) and found.makes == "program"


def test_letters_of_a_folder_are_no_options() -> None:
    """`-h` within `-Ihere` asks for no help."""
    done = rocmkern("hipcc", "-Ihere")
    assert done.returncode == 1 and "hipcc: no source" in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("-fgpu-rdc", "a.hip"), "hipcc: -fgpu-rdc: code of several sources can't be linked on the device"),
        (("--offload-arch=gfx1", "a.hip"), "hipcc: no target 'gfx1'; there are gfx90a"),
        (("-O2",), "hipcc: no source; name a .hip, .cu or .cpp file"),
    ],
)
def test_what_is_not_there_is_refused(words: tuple[str, ...], told: str) -> None:
    """By name, before anything is compiled."""
    with pytest.raises(BuildError, match=told):
        host_program.parse(words)


def test_headers_serve_host_code(tmp_path: Path) -> None:
    """Each of them, together with the others and C++'s own."""
    folder = hip_source.HEADERS
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.h") if path.parent.name != "rocmkern")
    text = "".join(f"#include <{name}>\n" for name in names)
    text += (
        "#include <cmath>\n#include <vector>\nfloat size(float x) { return std::sqrt(x) + float(__hip_fp8_e4m3(x)); }\n"
    )
    text += "__global__ void fill(long *x, double y) { *x = static_cast<long>(y); }\n"
    text += (
        "void all(long *x) { hipExtLaunchKernelGGL(fill, dim3(1), dim3(1), 0, nullptr, nullptr, nullptr, 0, x, 1); }\n"
    )
    (tmp_path / "all.hip").write_text(text)
    done = rocmkern("hipcc", "-Wall", "-c", str(tmp_path / "all.hip"), "-o", str(tmp_path / "all.o"))
    assert done.returncode == 0 and not done.stderr, done.stderr
