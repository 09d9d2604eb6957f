"""Generated kernels: right for their shapes, used where an operation asks for them, made without harm to each other."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner

import rocmkern as rk
from rocmkern.build import toolchain
from rocmkern.cli import main
from rocmkern.engine import operation
from rocmkern.engine.operation import forget_plans
from rocmkern.errors import BuildError
from rocmkern.kernels import sidecar
from rocmkern.kernels.instance_files import KERNEL_FOLDERS
from rocmkern.ops import specialized
from rocmkern.paths import CACHE_VARIABLE
from rocmkern.specialize import generate as generate_module
from rocmkern.specialize.config import Request, requests
from rocmkern.specialize.descriptor import TensorDescriptor
from rocmkern.specialize.generate import generate, output_path

ROOT = Path(__file__).resolve().parents[2]
TARGET = "gfx942"


def entry(op: str, source: str, inputs: list[str], output: str, name: str) -> dict[str, Any]:
    return {
        "kernel_name": op, "kernel_source": source, "arch": TARGET,
        "input_tensors": inputs, "output_tensor": output, "exported_name": name,
    }  # fmt: skip


UNARY = {
    "abs": np.abs, "sgn": np.sign, "neg": np.negative, "step": lambda x: (x > 0) * 1.0,
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh, "elu": lambda x: np.where(x > 0, x, np.expm1(x)), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "gelu": lambda x: 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3))),
    "gelu_quick": lambda x: x / (1 + np.exp(-1.702 * x)), "silu": lambda x: x / (1 + np.exp(-x)),
    "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6, "hardsigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "exp": np.exp,
    "gelu_erf": lambda x: x * 0.5 * (1 + np.vectorize(math.erf)(x / 2**0.5)),
}  # fmt: skip
BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
COLUMNS = "(40,33,2,1)/f32/(33,1,1320,2640)"
TURNED = "(70,33,2,1)/f32/(33,1,2310,4620)"
WIDE = "(64,6,5,3)/f32/(1,72,432,2160)"
PADDED, TRANSPOSED = "(8,6,5,3)/f16/(1,8,60,360)", "(7,3,1,1)/bf16/(3,1,1,1)"
ENTRIES = [
    *(entry(f"ggml_unary_op_{n}", "unary_ops.hip", ["(37,3,1,1)/f32"], "(37,3,1,1)/f32", f"u_{n}") for n in UNARY),
    *(entry(f"ggml_op_{n}", "binary_ops.hip", ["(64,5,1,1)/f32"] * 2, "(64,5,1,1)/f32", f"b_{n}") for n in BINARY),
    entry("ggml_op_add", "binary_ops.hip", [PADDED, "(8,1,5,1)/f16"], "(8,6,5,3)/f16", "b_strided"),
    entry("ggml_op_mul", "binary_ops.hip", [TRANSPOSED, "(1,3,1,1)/bf16"], TRANSPOSED, "b_t"),
    entry("ggml_op_div", "binary_ops.hip", ["(16,2,1,1)/i32"] * 2, "(16,2,1,1)/i32", "b_i32"),
    entry("ggml_op_sub", "binary_ops.hip", ["(16,2,1,1)/i8"] * 2, "(16,2,1,1)/i8", "b_i8"),
    entry("ggml_op_add", "binary_ops.hip", [WIDE, "(1,6,1,3)/f32"], "(64,6,5,3)/f32", "b_packs"),
    entry("ggml_op_cont", "unary_ops.hip", ["(96,70,1,1)/f32/(70,1,1,1)"], "(96,70,1,1)/f32", "c_f32"),
    entry("ggml_op_cont", "unary_ops.hip", ["(96,72,3,2)/f16/(72,1,6912,20736)"], "(96,72,3,2)/f16", "c_quads"),
    entry("ggml_op_cont", "unary_ops.hip", ["(33,3,70,2)/i8/(210,70,1,6930)"], "(33,3,70,2)/i8", "c_i8"),
    entry("ggml_op_mul_mat", "mul_mat.hip", ["(48,33,1,1)/f16", "(48,17,2,1)/f16"], "(33,17,2,1)/f32", "mm_f16"),
    entry("ggml_op_mul_mat", "mul_mat.hip", ["(40,70,2,1)/f32", COLUMNS], TURNED, "mm_turned"),
    entry("ggml_op_mul_mat", "mul_mat.hip", ["(37,20,1,1)/i8", "(37,9,1,1)/i8"], "(20,9,1,1)/i32", "mm_i8"),
    entry("ggml_op_mul_mat", "mul_mat.hip", ["(5,3,1,1)/i16", "(5,70,1,1)/i16"], "(3,70,1,1)/i32", "mm_i16"),
]  # fmt: skip
REQUESTS = {request.exported_name: request for request in requests({"kernels": ENTRIES})}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every kernel of ENTRIES, generated once."""
    out = tmp_path_factory.mktemp("kernels")
    reports: list[str] = []
    failed = generate(
        list(REQUESTS.values()), out, toolchain.detect("zig"), jobs=2, report=lambda r, what, why: reports.append(what)
    )
    assert failed == []
    assert set(reports) == {"generated"}
    return out


def memory_of(tensor: TensorDescriptor) -> int:
    return 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.strides, strict=True))


def view(flat: np.ndarray, tensor: TensorDescriptor) -> np.ndarray:
    """The array that the descriptor describes, outermost dimension first."""
    strides = [s * flat.itemsize for s in tensor.strides[::-1]]
    return np.lib.stride_tricks.as_strided(flat, tensor.shape[::-1], strides)


def launch(folder: Path, request: Request) -> tuple[list[np.ndarray], np.ndarray]:
    """Runs one kernel on random inputs: the inputs and the output, as NumPy sees them."""
    rng = np.random.default_rng(0)
    device = rk.Device(f"emulator:{TARGET}")
    path = output_path(folder, request)
    row = sidecar.read(path)
    function = rk.Module.load(path, device).get_function(row.symbol)
    flats = [(rng.standard_normal(memory_of(t)) * 4).astype(t.dtype.numpy) for t in request.inputs]
    out = np.zeros(memory_of(request.output), request.output.dtype.numpy)
    memories = []
    for flat in (*flats, out):
        memories.append(device.alloc(flat.nbytes))
        memories[-1].copy_from_host(flat)
    function(*memories, grid=row.grid, block=row.block)
    memories[-1].copy_to_host(out)
    return [view(f, t) for f, t in zip(flats, request.inputs, strict=True)], view(out, request.output)


@pytest.mark.parametrize("name", [n for n in REQUESTS if n.startswith("u_")])
def test_unary_operations(folder: Path, name: str) -> None:
    """Each ggml unary operation equals its definition."""
    (x,), found = launch(folder, REQUESTS[name])
    assert np.allclose(found, UNARY[name[2:]](x.astype(np.float64)), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", [f"b_{n}" for n in BINARY])
def test_binary_operations(folder: Path, name: str) -> None:
    """Each ggml binary operation equals NumPy's."""
    (x, y), found = launch(folder, REQUESTS[name])
    assert np.array_equal(found, BINARY[name[2:]](x, y))


def test_strided_and_repeating_inputs(folder: Path) -> None:
    """A padded 4-d input, one that repeats along two dims; a transposed one in bf16, written transposed."""
    (x, y), found = launch(folder, REQUESTS["b_strided"])
    assert np.array_equal(found, x + y)
    (x, y), found = launch(folder, REQUESTS["b_t"])
    assert np.array_equal(found, (x.astype(np.float32) * y.astype(np.float32)).astype(ml_dtypes.bfloat16))


@pytest.mark.parametrize("name", ["c_f32", "c_quads", "c_i8"])
def test_copies_of_transposed_tensors(folder: Path, name: str) -> None:
    """By tiles, of sides that fill none, in the second and the third dimension."""
    (x,), found = launch(folder, REQUESTS[name])
    assert np.array_equal(found, x)


def test_rows_by_packs(folder: Path) -> None:
    """Rows that begin on 16 bytes, with an input of one element a row."""
    (x, y), found = launch(folder, REQUESTS["b_packs"])
    assert np.array_equal(found, x + y)


def test_integers_wrap_and_divide_as_the_policy_says(folder: Path) -> None:
    """i8 wraps; i32 truncates toward zero, a zero divisor gives 0."""
    (x, y), found = launch(folder, REQUESTS["b_i8"])
    assert np.array_equal(found, x - y)
    (x, y), found = launch(folder, REQUESTS["b_i32"])
    safe = np.where(y == 0, 1, y)
    assert np.array_equal(found, np.where(y == 0, 0, np.trunc(x / safe)).astype(np.int32))


def test_products(folder: Path) -> None:
    """out[n, m] = Σ b[n, k] a[m, k]; one matrix of the first input serves both of the second's."""
    (a, b), found = launch(folder, REQUESTS["mm_f16"])
    wanted = b.astype(np.float64) @ a.astype(np.float64).swapaxes(-1, -2)
    assert np.allclose(found, wanted, rtol=1e-5, atol=1e-4)
    (a, b), found = launch(folder, REQUESTS["mm_turned"])
    assert np.allclose(found, b.astype(np.float64) @ a.astype(np.float64).swapaxes(-1, -2), rtol=1e-5, atol=1e-4)
    for name in ("mm_i16", "mm_i8"):
        (a, b), found = launch(folder, REQUESTS[name])
        assert np.array_equal(found, b.astype(np.int32) @ a.astype(np.int32).swapaxes(-1, -2))


@pytest.fixture
def used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The generated kernels are where operations look for them."""
    monkeypatch.setenv(KERNEL_FOLDERS, str(folder))
    specialized.configure()
    yield
    monkeypatch.undo()
    specialized.configure()


@pytest.mark.usefixtures("used")
def test_operations_use_the_kernel_of_their_shape() -> None:
    """rk.add of two (5, 64) runs the generated kernel, of (5, 65) the generic one; the results are NumPy's."""
    device = rk.Device(f"emulator:{TARGET}")
    for columns, expected in ((64, "b_add"), (65, "badd_f32")):
        x = np.random.default_rng(1).standard_normal((5, columns)).astype(np.float32)
        on_device = rk.asarray(x, device=device)
        with rk.Trace() as trace:
            found = (on_device + on_device).numpy()
        assert [row.kernel for row in trace.totals()] == [expected]
        assert np.array_equal(found, x + x)


@pytest.mark.usefixtures("used")
def test_operations_that_are_done_again_launch_it_again() -> None:
    """diff subtracts rows from rows: of other values, at other addresses, by the same kernel."""
    device = rk.Device(f"emulator:{TARGET}")
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=(6, 64)).astype(np.float32)
        t = rk.asarray(x, device=device)
        with rk.Trace() as trace:
            found = rk.diff(t, axis=0)
        (row,) = trace.totals()
        assert (row.kernel, row.launches) == ("b_sub", 1)
        assert np.array_equal(found.numpy(), np.diff(x, axis=0))
    assert None not in operation._plans.young.values()


def test_kernel_that_is_gone_or_damaged_is_not_used(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After operations looked what there is, one is dropped from the cache, or cut off: the generic kernel serves."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    path = tmp_path / "kernels" / TARGET / "b_add.hsaco"
    x = np.ones((5, 64), np.float32)
    for damage in (path.unlink, lambda: path.write_bytes(path.read_bytes()[:3000])):
        shutil.copytree(folder, tmp_path / "kernels", dirs_exist_ok=True)
        specialized.configure()
        device = rk.Device(f"emulator:{TARGET}")
        assert path in specialized._table(device).values()
        damage()
        with rk.Trace() as trace:
            found = (rk.asarray(x, device=device) + 1 * rk.asarray(x, device=device)).numpy()
        assert "badd_f32" in [row.kernel for row in trace.totals()]
        assert np.array_equal(found, 2 * x)
    monkeypatch.undo()
    specialized.configure()


@pytest.mark.usefixtures("used")
def test_specialised_results_equal_generic_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bits with and without a kernel of the shape's own: zeros of both signs, infinities, NaN, subnormals."""
    corners = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e38, -3e38, 88.0, -88.0, 1e-7, -2e-8, 0.5]
    device = rk.Device(f"emulator:{TARGET}")
    x = rk.asarray(np.resize(np.float32(corners), (3, 37)), device=device)
    left = np.resize(np.float32(corners), (5, 64))
    pair = [rk.asarray(y, device=device) for y in (left, np.roll(left.reshape(-1), 5).reshape(5, 64))]
    unary = (rk.abs, rk.sign, rk.negative, rk.relu, rk.tanh, rk.sigmoid, rk.gelu, rk.gelu_tanh, rk.silu, rk.exp)
    binary = (rk.add, rk.subtract, rk.multiply, rk.divide)
    calls: list[Any] = [*((f, [x]) for f in unary), *((f, pair) for f in binary)]
    special = [call(*operands).numpy() for call, operands in calls]
    monkeypatch.setattr(specialized, "enabled", False)
    forget_plans()
    for (call, operands), found in zip(calls, special, strict=True):
        wanted = call(*operands).numpy()
        assert np.array_equal(found, wanted, equal_nan=True), call
        number = ~np.isnan(wanted)
        assert np.array_equal(np.signbit(found[number]), np.signbit(wanted[number])), call


def test_up_to_date_files_are_kept_and_one_failure_stops_no_other(folder: Path, tmp_path: Path) -> None:
    """A second run keeps everything; a source that does not compile fails alone, with exit code 1."""
    again: list[str] = []
    generate([REQUESTS["b_add"]], folder, toolchain.detect("zig"), report=lambda r, what, why: again.append(what))
    assert again == ["kept"]
    (tmp_path / "mine.hip").write_text(
        '#include "include/device.hpp"\nRK_KERNEL twice(float *x) { x[rk::thread_x()] *= 2; }\n'
    )
    (tmp_path / "broken.hip").write_text("this is no kernel\n")
    config = [
        entry("twice", "mine.hip", ["(64,1,1,1)/f32"], "(64,1,1,1)/f32", "mine"),
        entry("x", "broken.hip", ["(64,1,1,1)/f32"], "(64,1,1,1)/f32", "broken"),
    ]
    (tmp_path / "config.json").write_text(json.dumps({"kernels": config}))
    words = ["gen-kernels", "--config", str(tmp_path / "config.json"), "--output-dir", str(tmp_path / "out")]
    words += ["--kernels-dir", str(tmp_path)]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 1
    assert "1 of 2 kernels" in done.output
    assert (tmp_path / "out" / TARGET / "mine.hsaco").exists()
    assert not (tmp_path / "out" / TARGET / "broken.hsaco").exists()


class Copying:
    """Compiles everything to one file that is there already."""

    def __init__(self, made: Path) -> None:
        self.made = made

    def compile(self, root: Path, source: str, target: str, output: Path, extra: tuple[str, ...] = ()) -> None:
        output.write_bytes(self.made.read_bytes())


def test_own_kernels_are_made_again_for_other_tensors_and_headers(folder: Path, tmp_path: Path) -> None:
    """What a user's source includes counts, and what its sidecar would say."""
    (tmp_path / "mine.hip").write_text('#include "mine.hpp"\n#include "hip/hip_runtime.h"\n')
    compiler: Any = Copying(output_path(folder, REQUESTS["b_add"]))
    told: list[str] = []

    def make(columns: int, header: str) -> sidecar.Sidecar:
        (tmp_path / "mine.hpp").write_text(header)
        shape = f"({columns},5,1,1)/f32"
        wanted = requests({"kernels": [entry("b_add", "mine.hip", [shape] * 2, shape, "own")]}, tmp_path)
        assert generate(wanted, tmp_path, compiler, report=lambda r, what, why: told.append(what)) == []
        return sidecar.read(output_path(tmp_path, wanted[0]))

    assert [make(n, header).output.shape[0] for n, header in ((8, "a"), (8, "a"), (9, "a"), (9, "b"))] == [8, 8, 9, 9]
    assert told == ["generated", "kept", "generated", "generated"]


def test_threads_make_one_kernel_side_by_side(folder: Path, tmp_path: Path) -> None:
    """Each writes a file of its own first; readers find the old one or the new one."""
    request, compiler = REQUESTS["b_add"], Copying(output_path(folder, REQUESTS["b_add"]))
    together, told = threading.Barrier(4, timeout=60), []

    def make() -> None:
        for _ in range(20):
            together.wait()
            generate_module._make(request, tmp_path, compiler)  # type: ignore[arg-type]  # a stand-in
            told.append(sidecar.read(output_path(tmp_path, request)).symbol)

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == ["b_add"] * 80


def test_dry_run_compiles_nothing(tmp_path: Path) -> None:
    """--dry-run lists the files and leaves the folder alone."""
    (tmp_path / "config.json").write_text(json.dumps({"kernels": ENTRIES[:2]}))
    words = [
        "gen-kernels",
        "--config",
        str(tmp_path / "config.json"),
        "--output-dir",
        str(tmp_path / "out"),
        "--dry-run",
    ]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0
    assert "2 kernels, nothing compiled" in done.output
    assert not (tmp_path / "out").exists()


PROGRAM = """
import numpy as np, rocmkern as rk
x = rk.asarray(np.arange(60, dtype=np.float32).reshape(3, 20))
with rk.Trace() as trace:
    y = rk.tanh(x + x) @ rk.permute_dims(x, (1, 0))
print(sorted(row.kernel for row in trace.totals()), float(rk.sum(y)))
"""


def test_from_development_to_deployment(tmp_path: Path) -> None:
    """Record what a program misses, generate it, run the program elsewhere without a compiler: the same result."""
    (tmp_path / "model.py").write_text(PROGRAM)
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT), "ROCMKERN_DEVICE": f"emulator:{TARGET}", "ROCMKERN_CACHE": str(tmp_path),
    }  # fmt: skip

    def rocmkern(*words: str) -> str:
        command = [sys.executable, "-m", "rocmkern", *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    generic = rocmkern("run", "--record", "misses.json", "model.py")
    rocmkern("gen-kernels", "--config", "misses.json", "--output-dir", "made")
    block_compilers = "import sys; sys.modules['ziglang'] = None; exec(open('model.py').read())"
    deployed = {**environment, "ROCMKERN_KERNEL_DIR": str(tmp_path / "made"), "PATH": "/nowhere"}
    done = subprocess.run(
        [sys.executable, "-c", block_compilers], cwd=tmp_path, env=deployed, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "op_add_f32_20x3x1x1" in done.stdout
    assert "badd_f32" in generic
    assert "badd_f32" not in done.stdout
    assert float(done.stdout.split()[-1]) == pytest.approx(float(generic.split()[-1]), rel=1e-6)


def test_a_record_is_a_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operations on tensors that no template takes are not in it: one of them would have all of it refused."""
    monkeypatch.setenv(specialized.RECORD, "somewhere")
    monkeypatch.setattr(specialized, "_recorded", recorded := {})
    monkeypatch.setattr("atexit.register", lambda function: None)
    specialized.configure()
    x = rk.ones((4, 8), device=rk.Device(f"emulator:{TARGET}"))
    half, many, short = x.astype(rk.float16), x.astype(rk.complex64), x.astype(rk.int64)
    for left, right in ((x, x[::-1]), (x[:1], x), (many, many)):
        left + right
    rk.exp(rk.broadcast_to(x[:1], (4, 8)))
    half @ half.T, short @ short.T, x @ x.T, x - x
    monkeypatch.undo()
    specialized.configure()
    made = requests({"kernels": list(recorded.values())})
    assert [request.kernel_name for request in made] == ["ggml_op_mul_mat", "ggml_op_sub"]


@pytest.fixture
def jit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Operations compile what they do not find, into an empty cache."""
    monkeypatch.setenv("ROCMKERN_CACHE", str(tmp_path))
    rk.jit_kernels()
    yield tmp_path / "kernels" / TARGET
    monkeypatch.undo()
    specialized.configure()


def kernels_of_sum(columns: int) -> list[str]:
    x = rk.ones((4, columns), dtype=rk.float32, device=rk.Device(f"emulator:{TARGET}"))
    with rk.Trace() as trace:
        doubled = (x + x).numpy()
    assert np.array_equal(doubled, np.full((4, columns), 2, np.float32))
    return [row.kernel for row in trace.totals()]


def test_operations_compile_what_they_ask_for(jit: Path) -> None:
    """Once for each shape; another run finds it in the cache, and without the request the generic kernel runs."""
    (ran,) = kernels_of_sum(48)
    assert ran.startswith("op_add_f32_48x4x1x1_")
    (made,) = jit.glob("*.hsaco")
    written = made.stat().st_ino
    rk.jit_kernels()
    assert kernels_of_sum(48) == [ran]
    assert made.stat().st_ino == written
    rk.jit_kernels(False)
    assert "badd_f32" in kernels_of_sum(49)


def test_the_generic_kernel_serves_where_nothing_compiles(jit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing compiler warns, once for each kernel."""

    def missing(target: str) -> None:
        raise BuildError("build: no hipcc or ziglang here; install ROCm")

    monkeypatch.setattr("rocmkern.specialize.jit.compiler_for", missing)
    with pytest.warns(RuntimeWarning, match="no hipcc or ziglang here.*; the generic kernel serves"):
        assert kernels_of_sum(50) == ["badd_f32"]
    assert kernels_of_sum(50) == ["badd_f32"]
    assert not list(jit.glob("*"))


def test_the_generic_kernel_serves_where_nothing_can_be_kept(jit: Path) -> None:
    """A cache that can't be written warns, once for each kernel."""
    jit.parent.write_bytes(b"")  # in the place of a folder
    with pytest.warns(RuntimeWarning, match="compile op_add_f32_51x4x1x1_.*; the generic kernel serves"):
        assert kernels_of_sum(51) == ["badd_f32"]
    assert kernels_of_sum(51) == ["badd_f32"]
