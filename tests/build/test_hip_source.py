"""Sources of other people: HIP's and CUDA's, their arguments' names and types, warnings and errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import rocmkern as rk
from rocmkern import codeobject
from rocmkern.build import argument_types, hip_source, jit
from rocmkern.cli import main
from rocmkern.errors import ArgumentError, BuildError, CompileWarning, KernelNotFound
from rocmkern.paths import CACHE_VARIABLE

ADD = """
__global__ void add(const float *x, float *y, long n, float scale) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] += scale * x[i];
    }
}
"""


@pytest.fixture
def cuda_file(tmp_path: Path) -> Path:
    path = tmp_path / "add.cu"
    path.write_text('#include "twice.h"\n' + ADD + 'extern "C" __global__ void two(int *x) { x[0] = TWICE; }\n')
    (tmp_path / "twice.h").write_text("#define TWICE 2\n")
    return path


def test_plain_source_runs_by_its_names() -> None:
    """No include, no `extern "C"`: the kernel is found by its C++ name and takes arguments by theirs."""
    device = rk.Device("emulator:gfx942")
    add = rk.compile(ADD, device=device).get_function("add")
    assert add.signature.endswith("(x: pointer to float32, y: pointer to float32, n: int64, scale: float32)")
    x, y = rk.asarray(np.arange(100, dtype=np.float32), device=device), rk.ones(100, device=device)
    add(x, y, scale=0.5, n=100, grid=1, block=128)
    assert np.array_equal(np.asarray(y), np.arange(100, dtype=np.float32) / 2 + 1)


def test_wrong_types_are_refused() -> None:
    """A float for an integer, a NumPy scalar and a tensor of another dtype: told before the launch."""
    device = rk.Device("emulator:gfx942")
    add, x = rk.compile(ADD, device=device).get_function("add"), rk.ones(4, device=device)
    for arguments, words in (
        ((x, x, 2.5, 1.0), r"argument 2 \(n\) is the float 2.5, int64 was wanted"),
        ((x, x, np.int32(2), 1.0), r"argument 2 \(n\) is a int32, int64 was wanted"),
        ((x, rk.ones(4, dtype=rk.float64, device=device), 2, 1.0), r"\(y\) points to float64, float32 was wanted"),
    ):
        with pytest.raises(ArgumentError, match=words):
            add(*arguments, grid=1, block=4)


def test_cuda_file_with_its_headers(cuda_file: Path) -> None:
    """A `.cu` includes CUDA's header by itself; what changes in a header beside it is compiled again."""
    device = rk.Device("emulator:gfx1100")
    for value in (2, 3):
        (cuda_file.parent / "twice.h").write_text(f"#define TWICE {value}\n")
        with device.alloc(4) as memory:
            rk.compile(cuda_file, device=device).get_function("two")(memory, grid=1, block=1)
            assert memory.copy_to_host(np.empty(1, np.int32)) == value
    assert hip_source.local_headers(cuda_file) == [cuda_file.parent / "twice.h"]


def test_overloads_are_told_apart() -> None:
    """A C++ name that several kernels have is none."""
    both = "template <typename T> __global__ void f(T *x) { x[0] = 1; }\n"
    both += "template __global__ void f<int>(int *); template __global__ void f<float>(float *);"
    module = rk.compile(both, device="emulator:gfx942")
    with pytest.raises(KernelNotFound, match="no kernel 'f'"):
        module.get_function("f")
    assert module.get_function("_Z1fIiEvPT_").signature.endswith("(x: pointer to int32)")


def test_warnings_are_warnings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They come as CompileWarning with file and line when it is compiled; the code is there."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    path = tmp_path / "careless.hip"
    path.write_text(
        "#include <hip/hip_runtime.h>\n__global__ void k(int *x) {\n    int y = x[0] == x[0];\n    *x = 3 / 0;\n}\n"
    )
    with pytest.warns(CompileWarning, match=r"(?s)compile careless .*careless.hip:4:12: warning: division by zero"):
        module = rk.compile(str(path), device="emulator:gfx942")
    assert len(module.kernels) == 1


def test_errors_carry_file_and_line(tmp_path: Path) -> None:
    """As the compiler tells them."""
    path = tmp_path / "wrong.hip"
    path.write_text("#include <hip/hip_runtime.h>\n\n__global__ void k(int *x) { *x = nothing; }\n")
    with pytest.raises(BuildError, match=r"wrong.hip:3:34: error: use of undeclared identifier 'nothing'"):
        rk.compile(path, device="emulator:gfx942")


def test_textures_are_refused_by_name() -> None:
    """There are none on the emulator, and the error says what to do."""
    with pytest.raises(BuildError, match="tex2D: textures and surfaces are not supported; read from memory"):
        jit.compiled('extern "C" __global__ void k(float *x) { *x = tex2D<float>(0, 1, 2); }', "gfx942")


def test_types_of_every_kind() -> None:
    """Typedefs, enumerations and references are what they stand for; structs keep their name; `void` is no type."""
    source = """
    #include <stdint.h>
    enum class Kind : unsigned char { first };
    struct Pair { int a, b; };
    extern "C" __global__ void k(const uint64_t *a, volatile int8_t *b, void *c, const Pair p, Kind kind, bool flag,
                                 _Float16 h, unsigned short s, const char *t, float4 v, double **d) {}
    """
    kernel = codeobject.read(jit.compiled(source, "gfx942")).kernels["k"]
    assert [a.name for a in kernel.logical_arguments] == [*"abcp", "kind", "flag", *"hstvd"]
    types = [a.type_name for a in kernel.logical_arguments]
    assert types[:9] == ["ulong*", "char*", "void*", "Pair", "uchar", "bool", "half", "ushort", "char*"]
    assert types[10] == "double**"


def test_module_without_kernels_stays_as_it_is() -> None:
    """Nothing to note, nothing noted."""
    assert argument_types.noted("; no kernel\n").strip() == "; no kernel"


def test_command_compiles_for_several_targets(cuda_file: Path, tmp_path: Path) -> None:
    """`rocmkern compile` writes a file for each target, with the debug information only where it is asked for."""
    for flags in ([], ["-g"]):
        command = ["compile", str(cuda_file), "--target", "gfx942", "--target", "gfx1100", "-o", str(tmp_path), *flags]
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 0, done.output
        built = [tmp_path / target / "add.hsaco" for target in ("gfx942", "gfx1100")]
        assert [codeobject.read(path.read_bytes()).target for path in built] == ["gfx942", "gfx1100"]
        assert (b".debug_info" in built[0].read_bytes()) is bool(flags)


def test_command_tells_the_compilers_error(tmp_path: Path) -> None:
    """With file and line, and status 1."""
    path = tmp_path / "wrong.hip"
    path.write_text("nonsense\n")
    done = CliRunner().invoke(main, ["compile", str(path), "--target", "gfx942", "-o", str(tmp_path)])
    assert done.exit_code == 1 and "wrong.hip:1:1: error" in done.output


def test_a_parameter_that_is_called_padding_is_one() -> None:
    """Words named `pad` without a type fill slots in files written by hand; in a source they are parameters."""
    device = rk.Device("emulator:gfx942")
    source = "__global__ void put(int *x, int pad, int padding) { x[0] = pad; x[1] = padding; }"
    x = rk.zeros(2, dtype=rk.int32, device=device)
    rk.compile(source, device=device).get_function("put")(x, pad=3, padding=4, grid=1, block=1)
    assert x.tolist() == [3, 4]
