"""Times what Python costs a launch, and operations on a few elements: plan, allocation, argument block, launch.

    python benchmarks/bench_overhead.py [--device emulator:gfx942] [--calls 500] [--only TEXT]

On a real device or the emulator the column includes the launch itself. `--device double` takes the HIP test double, a
library whose launch does nothing: what is left is ours and hip-python's. Microseconds of CPU time a call, best of
five runs; on a busy machine the only time that can be compared. Behind it stands how many kernels a call launches.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Callable
from pathlib import Path

import rocmkern as rk

sys.path.insert(0, str(Path(__file__).parent.parent))

RUNS = 5
BY_VALUE = ("x[mask]", "nonzero(x)", "unique_values(x)")  # their sizes come from the device
Calls = dict[str, Callable[[], object]]


def steps(device: rk.Device) -> Calls:
    """What an operation consists of."""
    affine, memory = rk.get_kernel("affine", "affine_f32", device), device.alloc(16)
    empty = affine.pack(0, 0, None, memory, memory, 2.0, 1.0)
    return {
        "get_kernel": lambda: rk.get_kernel("affine", "affine_f32", device),
        "pack": lambda: affine.pack(0, 0, None, memory, memory, 2.0, 1.0),
        "launch_packed": lambda: affine.launch_packed(empty, grid=1, block=64),
        "alloc, free": lambda: device.alloc(4000),
        "alloc, launch": lambda: affine(0, 0, None, memory, device.alloc(4000), 2.0, 1.0, grid=1, block=64),
    }


def elementwise(device: rk.Device) -> Calls:
    x, y = rk.ones((4,), device=device), rk.ones((4,), device=device)
    m = rk.ones((2, 2), device=device)
    return {
        "x + y": lambda: x + y,
        "x + 1.0": lambda: x + 1.0,
        "x / 3": lambda: x / 3,
        "x > 0": lambda: x > 0,
        "exp(x)": lambda: rk.exp(x),
        "gelu(x)": lambda: rk.gelu(x),
        "x += y": lambda: x.__iadd__(y),
        "m.T + m": lambda: m.T + m,
        "x.astype(f16)": lambda: x.astype(rk.float16),
        "where(x > y, x, y)": lambda: rk.where(x > y, x, y),
        "clip(x, 0, 1)": lambda: rk.clip(x, 0, 1),
        "tril(m)": lambda: rk.tril(m),
    }


def movement(device: rk.Device) -> Calls:
    x, m = rk.ones((4,), device=device), rk.ones((2, 2), device=device)
    ids = rk.zeros((4,), dtype=rk.int64, device=device)
    mask = x > 0
    return {
        "zeros((4,))": lambda: rk.zeros((4,), device=device),
        "arange(4)": lambda: rk.arange(4, device=device),
        "eye(2)": lambda: rk.eye(2, device=device),
        "x.copy()": lambda: x.copy(),
        "m.T.copy()": lambda: m.T.copy(),
        "m.T": lambda: m.T,
        "x[1:]": lambda: x[1:],
        "x[0]": lambda: x[0],
        "x.numpy()": lambda: x.numpy(),
        "x[ids]": lambda: x[ids],
        "x[mask]": lambda: x[mask],
        "x[1:] = 1": lambda: x.__setitem__(slice(1, None), 1),
        "concat([x, x])": lambda: rk.concat([x, x]),
        "stack([x, x])": lambda: rk.stack([x, x]),
        "roll(x, 1)": lambda: rk.roll(x, 1),
        "take(x, ids)": lambda: rk.take(x, ids),
        "take_along_axis": lambda: rk.take_along_axis(x, ids),
        "scatter_add": lambda: rk.scatter_add(x, ids, x),
        "one_hot(ids, 4)": lambda: rk.one_hot(ids, 4),
        "repeat(x, 2)": lambda: rk.repeat(x, 2),
        "nonzero(x)": lambda: rk.nonzero(x),
        "searchsorted(x, x)": lambda: rk.searchsorted(x, x),
    }


def by_rows(device: rk.Device) -> Calls:
    x, m = rk.ones((4,), device=device), rk.ones((2, 2), device=device)
    ids = rk.zeros((2,), dtype=rk.int64, device=device)
    w = rk.ones((2,), device=device)
    return {
        "sum(x)": lambda: rk.sum(x),
        "sum(m, axis=0)": lambda: rk.sum(m, axis=0),
        "mean(x)": lambda: rk.mean(x),
        "var(x)": lambda: rk.var(x),
        "std(x)": lambda: rk.std(x),
        "any(x)": lambda: rk.any(x),
        "argmax(x)": lambda: rk.argmax(x),
        "count_nonzero(x)": lambda: rk.count_nonzero(x),
        "cumulative_sum(x)": lambda: rk.cumulative_sum(x),
        "diff(x)": lambda: rk.diff(x),
        "sort(x)": lambda: rk.sort(x),
        "argsort(x)": lambda: rk.argsort(x),
        "top_k(x, 2)": lambda: rk.top_k(x, 2),
        "unique_values(x)": lambda: rk.unique_values(x),
        "softmax(m)": lambda: rk.softmax(m),
        "layer_norm(m, w, w)": lambda: rk.layer_norm(m, w, w),
        "rms_norm(m, w)": lambda: rk.rms_norm(m, w),
        "normalize(m)": lambda: rk.normalize(m),
        "cross_entropy(m, ids)": lambda: rk.cross_entropy(m, ids),
    }


def products(device: rk.Device) -> Calls:
    x, m = rk.ones((4,), device=device), rk.ones((2, 2), device=device)
    b, ids = rk.ones((2,), device=device), rk.zeros((4,), dtype=rk.int64, device=device)
    q = rk.ones((1, 2, 4, 8), device=device)
    angles = rk.ones((4, 4), device=device)
    image, kernel = rk.ones((1, 1, 4, 4), device=device), rk.ones((1, 1, 3, 3), device=device)
    signal, taps = rk.ones((1, 1, 4), device=device), rk.ones((1, 1, 3), device=device)
    return {
        "m @ m": lambda: m @ m,
        "linear(m, m, b)": lambda: rk.linear(m, m, b),
        "vecdot(x, x)": lambda: rk.vecdot(x, x),
        "embedding(m, ids)": lambda: rk.embedding(m, ids),
        "rope(q, cos, sin)": lambda: rk.rope(q, angles, angles),
        "attention(q, q, q)": lambda: rk.scaled_dot_product_attention(q, q, q),
        "conv2d": lambda: rk.conv2d(image, kernel),
        "conv1d": lambda: rk.conv1d(signal, taps),
        "max_pool2d": lambda: rk.max_pool2d(image, 2),
        "avg_pool2d": lambda: rk.avg_pool2d(image, 2),
        "interpolate": lambda: rk.interpolate(image, (8, 8)),
    }


def microseconds(call: Callable[[], object], calls: int) -> float:
    """CPU time of one call in the calling thread, the best of several runs."""
    for _ in range(20):
        call()
    best = float("inf")
    for _ in range(RUNS):
        start = time.thread_time()
        for _ in range(calls):
            call()
        best = min(best, time.thread_time() - start)
    return best / calls * 1e6


def launches(call: Callable[[], object]) -> int:
    """The kernels that a call launches once it was made before."""
    call()
    with rk.Trace() as trace:
        call()
    return sum(row.launches for row in trace.totals())


def report(device: rk.Device, calls: int, only: str, *, computes: bool) -> None:
    print(f"{device.info.name}, {calls} calls")
    for group in (steps, elementwise, movement, by_rows, products):
        for name, call in group(device).items():
            if only in name and (computes or name not in BY_VALUE):
                print(f"{name:22} {microseconds(call, calls):8.1f} us {launches(call):3}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default=None)
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--only", default="", help="operations whose name has this in it")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        name = options.device
        if name == "double":
            from tests import hip_double

            double = stack.enter_context(hip_double.present(1))
            double.recording(False)
            stack.callback(double.recording, True)
            name = "hip:0"
        report(rk.Device(name), options.calls, options.only, computes=options.device != "double")


if __name__ == "__main__":
    main()
