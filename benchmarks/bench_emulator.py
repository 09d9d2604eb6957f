"""Times shipped kernels on the emulator against NumPy in the same process.

    python benchmarks/bench_emulator.py [--device emulator:gfx942]… [--log2 24]

A table for each device, by default one of wave64 and one of wave32.

Columns, in milliseconds: the first launch in this process, the best of the later ones (once nothing compiles in the
background any more), the first one in a second process (which finds on disk what this one compiled), NumPy's best,
later launch / NumPy, and CPU time of both (all threads; on a busy machine the only times that can be compared); later
launches without AVX-512 / with it, where this CPU has it; vector instructions × lanes that a core executes in a second.

Then, in a process that begins with an empty cache: what it costs to translate kernels of various lengths for tier 0
and for tier 1, to load them in a second process, and to launch one that does nothing. Milliseconds of CPU time. Last,
what it costs to load the kernels of operations with longer ones, in processes that find them on disk: median of three.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
from attrs import frozen
from scipy.special import ndtr

import rocmkern as rk
from rocmkern.dtypes import float32
from rocmkern.emulator import program
from rocmkern.emulator.ir import AVX512_VARIABLE, host_features
from rocmkern.emulator.library import Library
from rocmkern.emulator.machine import Entry, Machine
from rocmkern.emulator.native import native
from rocmkern.kernels import plans, plans_rows, plans_transpose, shipped
from rocmkern.kernels.cache import get_kernel
from rocmkern.paths import CACHE_VARIABLE
from rocmkern.runtime import Device

ROUNDS = 8
WARM_UP = 10  # launches until everything hot is compiled
VECTOR_UNITS = frozenset({"valu", "lanes", "dual", "state", "memory"})
TRANSLATED: dict[tuple[str, str], Callable[[int, int, int], bytes]] = {  # arguments from elements, input, output
    ("fill", "fill_f32"): lambda n, x, out: struct.pack("<QfIQ", out, 1, 0, n),
    ("affine", "affine_f32"): lambda n, x, out: struct.pack("<QQQQQff", n, 1, 0, x, out, 2.5, -1),
    ("unary", "uexp_f32"): lambda n, x, out: struct.pack("<QQQQQ", n, 1, 0, x, out),
    ("unary", "ugelu_erf_f32"): lambda n, x, out: struct.pack("<QQQQQ", n, 1, 0, x, out),
    ("reduce", "softmax_rows_f32"): lambda n, x, out: struct.pack("<QQQQ", n >> 12, 1 << 12, x, out),
}
LONG: dict[str, Callable[[Any], object]] = {  # operations on what gives random numbers of a shape and dtype
    "softmax": lambda a: rk.softmax(a(8, 300)),
    "layer_norm": lambda a: rk.layer_norm(a(8, 300)),
    "sort": lambda a: rk.sort(a(4, 5000)),
    "top_k": lambda a: rk.top_k(a(8, 300), 5),
    "matmul": lambda a: a(65, 70) @ a(70, 90),
    "matmul f16": lambda a: a(64, 64, dtype=np.float16) @ a(64, 64, dtype=np.float16),
    "matmul f64": lambda a: a(33, 40, dtype=np.float64) @ a(40, 50, dtype=np.float64),
    "conv2d": lambda a: rk.conv2d(a(1, 3, 20, 20), a(8, 3, 3, 3)),
    "attention": lambda a: rk.scaled_dot_product_attention(*(a(1, 2, 40, 64) for _ in range(3))),
    "fft": lambda a: rk.fft.fft(a(4, 512)),
    "svd": lambda a: rk.linalg.svd(a(20, 16)),
    "q4_0 @ vector": lambda a: rk.quantize(a(64, 256), "q4_0").matmul(a(1, 256)),
    "q4_K @ matrix": lambda a: rk.quantize(a(64, 256), "q4_K").matmul(a(40, 256)),
    "q6_K @ matrix": lambda a: rk.quantize(a(64, 256), "q6_K").matmul(a(40, 256)),
}
COUNTED = {"exp": ("unary", "uexp_f32"), "gelu_erf": ("unary", "ugelu_erf_f32")}  # bound by arithmetic
FEW = 1 << 18  # elements
LITTLE = 1 << 12
EMPTY_LAUNCHES = 2000
Array = np.ndarray[Any, np.dtype[Any]]


@frozen
class Case:
    """A kernel, its NumPy equal, and how far they may differ."""

    name: str
    launch: Callable[[Device, Any, Any], None]
    reference: Callable[[Array], Array]
    tolerance: float = 1e-6


def _elementwise(family: str, symbol: str, *scalars: float, inputs: int = 1) -> Callable[[Device, Any, Any], None]:
    def launch(device: Device, x: Any, out: Any) -> None:
        n = x.nbytes // 4
        plan = plans.elementwise(n, (4,) * (inputs + 1), device.info)
        get_kernel(family, symbol, device)(n, 1, None, *[x] * inputs, out, *scalars, grid=plan.grid, block=plan.block)

    return launch


def _rows(x: Any) -> tuple[int, int]:
    n = x.nbytes // 4
    cols = 1 << (n.bit_length() - 1) // 2
    return n // cols, cols


def _softmax(device: Device, x: Any, out: Any) -> None:
    rows, cols = _rows(x)
    plan = plans_rows.normalization(rows, cols, 4, device.info)
    get_kernel("reduce", "softmax_rows_f32", device)(rows, cols, x, out, grid=plan.grid, block=plan.block)


def _sum(device: Device, x: Any, out: Any) -> None:
    rows, cols = _rows(x)
    plan = plans_rows.reduction(rows, cols, 4, device.info).first
    kernel = get_kernel("reduce", "fast_sum_f32", device)
    kernel(rows * cols, cols, 1, None, x, out, grid=plan.grid, block=plan.block)


def _transpose(device: Device, x: Any, out: Any) -> None:
    rows, cols = _rows(x)
    info = device.alloc(32)
    info.copy_from_host(np.array([cols, rows, 1, cols], np.uint64))
    plan = plans_transpose.copy((cols, rows), (1, cols), 4, 4, device.info)
    kernel = get_kernel("unary", "ucopy_f32", device)
    kernel(rows * cols, 2, info, x, out, grid=plan.grid, block=plan.block)


def _np_softmax(x: Array) -> Array:
    y = _square(x)
    e: Array = np.exp(y - y.max(1, keepdims=True))
    e /= e.sum(1, keepdims=True)
    return e


def _square(x: Array) -> Array:
    return x.reshape(-1, 1 << (x.size.bit_length() - 1) // 2)


CASES = (
    Case("affine", _elementwise("affine", "affine_f32", 2.5, -1.0), lambda x: x * np.float32(2.5) - np.float32(1)),
    Case("add", _elementwise("binary", "badd_f32", inputs=2), lambda x: x + x),
    Case("exp", _elementwise("unary", "uexp_f32"), np.exp),
    Case("gelu_erf", _elementwise("unary", "ugelu_erf_f32"), lambda x: x * ndtr(x)),
    Case("sum", _sum, lambda x: _square(x).sum(1), 1e-3),
    Case("softmax", _softmax, _np_softmax),
    Case("transpose", _transpose, lambda x: np.ascontiguousarray(_square(x).T)),
)


def _ms(function: Callable[[], object]) -> float:
    began = time.perf_counter()
    function()
    return 1e3 * (time.perf_counter() - began)


def _best(function: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Least wall time and least CPU time."""
    pairs = []
    for _ in range(rounds):
        cpu = time.process_time()
        wall = _ms(function)
        pairs.append((wall, 1e3 * (time.process_time() - cpu)))
    return min(p[0] for p in pairs), min(p[1] for p in pairs)


def measure(device_name: str, log2: int, rounds: int) -> dict[str, list[float]]:
    """First launch, best later one, its CPU time, per case; results are checked against NumPy."""
    device = Device(device_name)
    x = np.random.default_rng(0).normal(size=1 << log2).astype(np.float32)
    source, out = device.alloc(x.nbytes), device.alloc(x.nbytes)
    source.copy_from_host(x)
    times = {}
    for case in CASES:

        def run(case: Case = case) -> None:
            case.launch(device, source, out)
            device.synchronize()

        first = _ms(run)
        for _ in range(WARM_UP if rounds else 0):
            program.settle()
            run()
        later, cpu = _best(run, rounds) if rounds else (0.0, 0.0)
        expected = case.reference(x).astype(np.float32).ravel()
        came = out.copy_to_host().view(float32.numpy)[: expected.size]
        worst = float(np.max(np.abs(came - expected) / np.maximum(np.abs(expected), 1)))
        assert worst <= case.tolerance, f"{case.name}: off by {worst}"
        times[case.name] = [first, later, cpu]
    return times


def _launch(machine: Machine, entry: Entry, arguments: Callable[[int, int, int], bytes], n: int) -> None:
    x, out = machine.alloc(4 * max(n, 1)), machine.alloc(4 * max(n, 1))
    machine.launch(entry, (max(n >> 10, 1), 1, 1), (256, 1, 1), 0, arguments(n, x, out))
    machine.free(out)
    machine.free(x)


def _entry(machine: Machine, family: str, symbol: str) -> Entry:
    return machine.load(shipped.code(family, machine.target)).kernel(symbol)


def vector_work(target: str, family: str, symbol: str) -> float:
    """Vector instructions × lanes for each element, as tier 0 counts them."""
    machine = Machine(target, compiles=False)
    entry = _entry(machine, family, symbol)
    _launch(machine, entry, TRANSLATED[family, symbol], FEW)
    program = entry.module.program
    flow, counts = program.flow(entry.kernel), program.translation.counts
    waves = sum(
        counts(b.start)[0] * sum(flow.code[pc][0].unit in VECTOR_UNITS for pc in b.pcs) for b in flow.blocks.values()
    )
    return waves * entry.kernel.wave_size / FEW


def translation(target: str, cached: bool) -> dict[str, list[float]]:
    """Per kernel: how many instructions; ms of CPU time that a first launch takes longer, and for compiling what ran.

    `cached`: what an earlier process compiled is loaded, and nothing else is measured.
    """
    machine = Machine(target, compiles=cached)
    machine.library.load_scheduler()
    times = {}
    for (family, symbol), arguments in TRANSLATED.items():
        entry = _entry(machine, family, symbol)
        gc.collect()  # not by chance in the middle of a launch
        first, *later = (_cpu_ms(partial(_launch, machine, entry, arguments, LITTLE)) for _ in range(4))
        times[symbol] = [
            sum(len(b.pcs) for b in entry.module.program.flow(entry.kernel).blocks.values()),
            first - min(later),
        ]
        if not cached:
            _launch(machine, entry, arguments, FEW)
            times[symbol].append(_cpu_ms(partial(entry.module.program.compile, entry.kernel)))
    return times


def loading(device_name: str) -> dict[str, list[float]]:
    """Per kernel of long ones: instructions translated, ms of CPU time that a first launch takes longer."""
    device, rng = Device(device_name), np.random.default_rng(0)
    entries, starts, runs = dict[str, Entry](), dict[str, float](), defaultdict[str, list[float]](list)
    start, begin = Entry._start, Machine.begin

    def random(*shape: int, dtype: Any = np.float32) -> Any:
        return rk.asarray(rng.standard_normal(shape).astype(dtype), device=device)

    def timed_start(entry: Entry, *how: Any) -> Any:
        began = time.process_time()
        found = start(entry, *how)
        starts.setdefault(entry.kernel.name, 1e3 * (time.process_time() - began))
        entries[entry.kernel.name] = entry
        return found

    def timed_begin(machine: Machine, entry: Entry, *how: Any) -> None:
        runs[entry.kernel.name].append(_cpu_ms(partial(begin, machine, entry, *how)))

    Library(native()).load_scheduler()
    with patch.object(Entry, "_start", timed_start), patch.object(Machine, "begin", timed_begin):
        for operation in LONG.values():
            gc.collect()
            for _ in range(3):
                operation(random)
    return {
        name: [_translated(entries[name]), starts[name] + first - min(later)]
        for name, (first, *later) in runs.items()
        if later
    }


def _translated(entry: Entry) -> int:
    program = entry.module.program
    text = program.translation_of(entry.kernel)
    return sum(text.is_written(pc) for pc in range(*program.extent(entry.kernel), 4))


def _cpu_ms(function: Callable[[], object]) -> float:
    began = time.process_time()
    function()
    return 1e3 * (time.process_time() - began)


def empty_launch_us(device: Device) -> float:
    """Microseconds of CPU time that a launch from Python of one workgroup takes which has nothing to do."""
    kernel, memory = get_kernel("affine", "affine_f32", device), device.alloc(16)

    def several() -> None:
        for _ in range(EMPTY_LAUNCHES):
            kernel(0, 1, None, memory, memory, 2.5, -1.0, grid=1, block=64)

    return min(_cpu_ms(several) for _ in range(5)) * 1e3 / EMPTY_LAUNCHES


def _child(*options: str, **environment: str) -> Any:
    command = [sys.executable, __file__, "--json", *options]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **environment})
    return json.loads(done.stdout)


def table(device: str, log2: int) -> None:
    """Measures a device, here and in other processes, and prints its table."""
    options = ("--device", device, "--log2", str(log2))
    times = measure(device, log2, ROUNDS)
    second = _child("measure", *options)
    without = _child("rounds", *options, **{AVX512_VARIABLE: "0"}) if "avx512f" in host_features() else None
    x = np.random.default_rng(0).normal(size=1 << log2).astype(np.float32)
    heads = ("first", "later", "2nd proc", "NumPy", "ratio", "CPU", "NumPy CPU", "ratio", "AVX2", "G lanes/s")
    print(f"{device}, 2^{log2} f32\n{'':10}" + "".join(f"{h:>10}" for h in heads))
    for case in CASES:
        first, later, cpu = times[case.name]
        wall, numpy_cpu = _best(partial(case.reference, x), 5)
        row = (first, later, second[case.name][0], wall, later / wall, cpu, numpy_cpu, cpu / numpy_cpu)
        text = "".join(f"{v:10.2f}" for v in row)
        text += f"{without[case.name][2] / cpu:10.2f}" if without else f"{'':10}"
        if case.name in COUNTED:
            work = vector_work(device.partition(":")[2], *COUNTED[case.name])
            text += f"{work * (1 << log2) / cpu / 1e6:10.1f}"
        print(f"{case.name:10}{text}", flush=True)


def costs(device: str) -> None:
    """Prints what translating, loading and launching cost."""
    with tempfile.TemporaryDirectory() as folder:
        cold = _child("translation", "--device", device, **{CACHE_VARIABLE: folder})
        cached = _child("cached", "--device", device, **{CACHE_VARIABLE: folder})
        long = [_child("loading", "--device", device, **{CACHE_VARIABLE: folder}) for _ in range(4)]
    heads = ("instructions", "tier 0", "tier 1", "2nd proc")
    print(f"{device}, an empty cache\n{'':18}" + "".join(f"{h:>13}" for h in heads))
    for symbol, (count, first, compiled) in cold.items():
        row = f"{count:13}{first:13.1f}{compiled:13.1f}{cached[symbol][1]:13.1f}"
        print(f"{symbol:18}{row}", flush=True)
    print("".join(f"{h:>{w}}" for h, w in (("", 28), ("translated", 13), ("first", 13), ("2nd proc", 13))))
    for symbol, (count, first) in long[0].items():
        later = median(process[symbol][1] for process in long[1:])
        print(f"{symbol:28}{count:13}{first:13.1f}{later:13.1f}", flush=True)
    print(f"empty launch: {empty_launch_us(Device(device)):.1f} µs", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", action="append", help="may be repeated")
    parser.add_argument("--log2", type=int, default=24, help="elements, as a power of two")
    parser.add_argument(
        "--json",
        choices=("measure", "rounds", "translation", "cached", "loading"),
        help="print one part only, for other processes",
    )
    options = parser.parse_args()
    devices = options.device or ["emulator:gfx942", "emulator:gfx1100"]
    target = devices[0].partition(":")[2]
    parts: dict[str, Callable[[], object]] = {
        "measure": lambda: measure(devices[0], options.log2, 0),
        "rounds": lambda: measure(devices[0], options.log2, ROUNDS),
        "translation": lambda: translation(target, False),
        "cached": lambda: translation(target, True),
        "loading": lambda: loading(devices[0]),
    }
    if options.json:
        print(json.dumps(parts[options.json]()))
        return
    for device in devices:
        table(device, options.log2)
        costs(device)


if __name__ == "__main__":
    main()
