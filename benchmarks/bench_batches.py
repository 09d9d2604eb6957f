"""Times linear algebra on batches of small matrices: what one matrix costs in a batch of 1 to 4096.

    python benchmarks/bench_batches.py [--device emulator:gfx942] [--side 4] [--only TEXT]

Microseconds a matrix, the best of several runs: until the results are there, or on the emulator of CPU time, the only
one that can be compared on a busy machine. A row falls to the right, as more matrices share the cost of a launch.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np

import rocmkern as rk
from rocmkern import linalg

BATCHES = (1, 4, 16, 64, 255, 257, 1024, 4096)
RUNS = 3
OF_MATRICES = (
    "svd", "svdvals", "eig", "eigvals", "eigh", "inv", "pinv", "matrix_rank", "cond", "det", "slogdet", "qr",
    "cholesky",
)  # fmt: skip


def calls(device: rk.Device, side: int, batch: int) -> dict[str, Callable[[], object]]:
    """What is timed, by name."""
    x = np.random.default_rng(side).standard_normal((batch, side, side)).astype(np.float32)
    a = rk.asarray(x @ x.transpose(0, 2, 1) + np.eye(side, dtype=np.float32), device=device)
    b = a[..., :1]
    of_one: dict[str, Callable[[], object]] = {name: partial(getattr(linalg, name), a) for name in OF_MATRICES}
    return of_one | {"solve": partial(linalg.solve, a, b), "lstsq": partial(linalg.lstsq, a, b)}


def microseconds(device: rk.Device, call: Callable[[], object]) -> float:
    """Of one call and what it launches, the best of several runs."""
    clock = time.process_time if device.info.name.startswith("emulator") else time.perf_counter
    call()
    best = float("inf")
    for _ in range(RUNS):
        device.synchronize()
        start = clock()
        call()
        device.synchronize()
        best = min(best, clock() - start)
    return best * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default=None)
    parser.add_argument("--side", type=int, default=4, help="rows and columns of a matrix")
    parser.add_argument("--only", default="", help="functions whose name has this in it")
    options = parser.parse_args()
    device = rk.Device(options.device)
    print(f"{device.info.name}, {options.side}×{options.side}, us a matrix")
    print(f"{'batch':12}" + "".join(f"{n:9}" for n in BATCHES))
    table = {n: calls(device, options.side, n) for n in BATCHES}
    for name in table[1]:
        if options.only in name:
            each = (microseconds(device, table[n][name]) / n for n in BATCHES)
            print(f"{name:12}" + "".join(f"{us:9.1f}" for us in each), flush=True)


if __name__ == "__main__":
    main()
