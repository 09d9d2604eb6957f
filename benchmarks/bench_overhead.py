"""Times what Python costs a launch, and an operation on four elements: plan, allocation, argument block, launch.

    python benchmarks/bench_overhead.py [--device emulator:gfx942] [--calls 2000]

On a real device or the emulator the column includes the launch itself. `--device double` takes the HIP test double, a
library whose launch does nothing: what is left is ours and hip-python's. Microseconds of CPU time a call, best of
five runs; on a busy machine the only time that can be compared.
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


def operations(device: rk.Device) -> dict[str, Callable[[], object]]:
    """The calls that are timed, by what they read like."""
    x, y = rk.ones((4,), device=device), rk.ones((4,), device=device)
    m = rk.ones((2, 2), device=device)
    ids = rk.zeros((4,), dtype=rk.int64, device=device)
    affine, memory = rk.get_kernel("affine", "affine_f32", device), device.alloc(16)
    empty = affine.pack(0, 0, None, memory, memory, 2.0, 1.0)
    return {
        "get_kernel": lambda: rk.get_kernel("affine", "affine_f32", device),
        "pack": lambda: affine.pack(0, 0, None, memory, memory, 2.0, 1.0),
        "launch_packed": lambda: affine.launch_packed(empty, grid=1, block=64),
        "alloc, free": lambda: device.alloc(4000),
        "alloc, launch": lambda: affine(0, 0, None, memory, device.alloc(4000), 2.0, 1.0, grid=1, block=64),
        "x + y": lambda: x + y,
        "x + 1.0": lambda: x + 1.0,
        "exp(x)": lambda: rk.exp(x),
        "m.T + m": lambda: m.T + m,
        "sum(x)": lambda: rk.sum(x),
        "softmax(m)": lambda: rk.softmax(m),
        "m @ m": lambda: m @ m,
        "where(x > y, x, y)": lambda: rk.where(x > y, x, y),
        "take(x, ids)": lambda: rk.take(x, ids),
        "x[1:]": lambda: x[1:],
        "zeros((4,))": lambda: rk.zeros((4,), device=device),
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


def report(device: rk.Device, calls: int) -> None:
    print(f"{device.info.name}, {calls} calls")
    for name, call in operations(device).items():
        print(f"{name:20} {microseconds(call, calls):8.1f} us")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default=None)
    parser.add_argument("--calls", type=int, default=2000)
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        name = options.device
        if name == "double":
            from tests import hip_double

            double = stack.enter_context(hip_double.present())
            double.recording(False)
            stack.callback(double.recording, True)
            name = "hip:0"
        report(rk.Device(name), options.calls)


if __name__ == "__main__":
    main()
