"""Times kernels on checked devices against the plain one.

    python benchmarks/bench_check.py [--target gfx942] [--log2 22] [--rounds 3]

For each operation: milliseconds of CPU time on the plain device once everything hot is compiled, then how many times as
long it takes on a checked device (memory, what nothing wrote, races in LDS), and there while findings are collected
(races in device memory, barriers, lanes of a store as well). Best of some rounds, all threads together.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

import rocmkern as rk
from rocmkern.emulator import program

Operation = Callable[[], Any]


def operations(device: str, log2: int) -> dict[str, Operation]:
    """What is timed, on 2 to the `log2` numbers."""
    side = 1 << log2 // 2
    draws = np.random.default_rng(0)
    x = rk.asarray(draws.standard_normal((side, side), np.float32), device=device)
    thin = rk.asarray(draws.standard_normal((side, 8), np.float32), device=device)
    row = rk.asarray(draws.standard_normal((1, side), np.float32), device=device)
    quantized = rk.quantize(x, "q4_k")
    return {
        "add": lambda: x + x,
        "exp": lambda: rk.exp(x),
        "sum": lambda: rk.sum(x, axis=1),
        "softmax": lambda: rk.softmax(x),
        "layer_norm": lambda: rk.layer_norm(x),
        "cumulative_sum": lambda: rk.cumulative_sum(x, axis=1),
        "transpose": lambda: rk.contiguous(x.T),
        "sort": lambda: rk.sort(x, axis=1),
        "matmul by 8 columns": lambda: x @ thin,
        "q4_k × vector": lambda: quantized.matmul(row),
    }


def seconds(operation: Operation, rounds: int, watched: Callable[[], AbstractContextManager[object]]) -> float:
    """CPU time of the best round, warm."""
    with watched():
        operation()
        program.settle()
        operation()
        program.settle()
        found = []
        for _ in range(rounds):
            began = time.process_time()
            operation()
            found.append(time.process_time() - began)
    return min(found)


def main() -> None:
    """Print a row for each operation."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="gfx942")
    parser.add_argument("--log2", type=int, default=22)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    plain, checked = f"emulator:{given.target}", f"emulator:{given.target}:checked"
    print(f"{given.target}, 2^{given.log2} elements")
    print("| | plain, ms of CPU time | checked | all checks |\n|---|---|---|---|")
    on_plain, on_checked = operations(plain, given.log2), operations(checked, given.log2)
    for name, operation in on_plain.items():
        one = seconds(operation, given.rounds, nullcontext)
        ratios = [seconds(on_checked[name], given.rounds, watched) / one for watched in (nullcontext, rk.check)]
        print(f"| {name} | {1e3 * one:.1f} | {ratios[0]:.1f} | {ratios[1]:.1f} |", flush=True)


if __name__ == "__main__":
    main()
