"""Times shipped kernels on the emulator against NumPy in the same process.

    python benchmarks/bench_emulator.py [--device emulator:gfx942]… [--log2 24]

A table for each device, by default one of wave64 and one of wave32.

Columns, in milliseconds: the first launch in this process, the best of the later ones, the first one in a second
process (which finds on disk what this one compiled), NumPy's best, later launch / NumPy, and CPU time of both (all
threads; on a busy machine the only times that can be compared).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import frozen
from scipy.special import ndtr

from rocmkern.dtypes import float32
from rocmkern.kernels import plans, plans_rows
from rocmkern.kernels.cache import get_kernel
from rocmkern.runtime import Device

ROUNDS = 8
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
    plan = plans.elementwise(rows * cols, (4, 4), device.info, contiguous=False)
    kernel = get_kernel("unary", "ucopy_f32", device)
    kernel(rows * cols, 2, info, x, out, grid=plan.grid, block=plan.block)


def _np_softmax(x: Array) -> Array:
    y = x.reshape(-1, 1 << (x.size.bit_length() - 1) // 2)
    e = np.exp(y - y.max(1, keepdims=True))
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
        later, cpu = _best(run, rounds) if rounds else (0.0, 0.0)
        expected = case.reference(x).astype(np.float32).ravel()
        came = out.copy_to_host().view(float32.numpy)[: expected.size]
        worst = float(np.max(np.abs(came - expected) / np.maximum(np.abs(expected), 1)))
        assert worst <= case.tolerance, f"{case.name}: off by {worst}"
        times[case.name] = [first, later, cpu]
    return times


def table(device: str, log2: int) -> None:
    """Measures a device, here and in a second process, and prints its table."""
    times = measure(device, log2, ROUNDS)
    command = [sys.executable, __file__, "--json", "--device", device, "--log2", str(log2)]
    second = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    x = np.random.default_rng(0).normal(size=1 << log2).astype(np.float32)
    heads = ("first", "later", "2nd proc", "NumPy", "ratio", "CPU", "NumPy CPU", "ratio")
    print(f"{device}, 2^{log2} f32\n{'':10}" + "".join(f"{h:>10}" for h in heads))
    for case in CASES:
        first, later, cpu = times[case.name]
        wall, numpy_cpu = _best(lambda case=case: case.reference(x), 5)  # type: ignore[misc]
        row = (first, later, second[case.name][0], wall, later / wall, cpu, numpy_cpu, cpu / numpy_cpu)
        print(f"{case.name:10}" + "".join(f"{v:10.2f}" for v in row), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", action="append", help="may be repeated")
    parser.add_argument("--log2", type=int, default=24, help="elements, as a power of two")
    parser.add_argument("--json", action="store_true", help="print the first launches only, for the second process")
    options = parser.parse_args()
    devices = options.device or ["emulator:gfx942", "emulator:gfx1100"]
    if options.json:
        print(json.dumps(measure(devices[0], options.log2, 0)))
        return
    for device in devices:
        table(device, options.log2)


if __name__ == "__main__":
    main()
