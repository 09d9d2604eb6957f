"""Counts what operations move, against what they must move at least, on emulated devices of every target.

    python benchmarks/bench_traffic.py [--target gfx942]… [--side 1024]

For each operation on a square float32 matrix: bytes that its launches read from memory and write there, each line of
128 bytes once for a launch, over the operands and results, each once (1 is the least); how much of the lines the
instructions take; the lowest occupancy of its kernels and what limits it. These are counts, so nothing is timed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

import rocmkern as rk
from rocmkern.profiling.profile import KernelProfile
from rocmkern.targets import BUILT

DEVICES = {"gfx10-3-generic": "gfx1030", "gfx11-generic": "gfx1100", "gfx12-generic": "gfx1201"}
Case = tuple[str, Callable[[], object], float]  # name, call, and the bytes that it must move


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--target", action="append", help="may be repeated; all that are shipped if absent")
    parser.add_argument("--side", type=int, default=1024)
    options = parser.parse_args()
    targets = options.target or [DEVICES.get(target, target) for target in BUILT]
    print("| operation | " + " | ".join(targets) + " |\n|---|" + "---|" * len(targets))
    columns = [[(case[0], measure(case)) for case in cases(target, options.side)] for target in targets]
    for row in zip(*columns, strict=True):
        print(f"| {row[0][0]} | " + " | ".join(cell for _, cell in row) + " |")


def cases(target: str, side: int) -> list[Case]:
    """Operations of each kind on matrices of that side."""
    device, rng = rk.Device(f"emulator:{target}"), np.random.default_rng(0)
    x = rk.asarray(rng.random((side, side), dtype=np.float32), device=device)
    v, half = x[0], x.astype(rk.float16)
    odd = rk.asarray(rng.random((side - 24, side - 23), dtype=np.float32), device=device)
    ids, n = rk.asarray(rng.permutation(side), device=device), x.nbytes
    return [
        ("exp", lambda: rk.exp(x), 2 * n),
        ("exp, f16", lambda: rk.exp(half), n),
        ("gelu", lambda: rk.gelu(x), 2 * n),
        ("cast to f16", lambda: x.astype(rk.float16), 1.5 * n),
        ("add", lambda: rk.add(x, x.T[::-1].T[:, ::-1]), 2 * n),
        ("add a row", lambda: x + v, 2 * n),
        ("add a column", lambda: x + v[:, None], 2 * n),
        ("clip", lambda: rk.clip(x, 0.1, 0.5), 2 * n),
        ("sum of all", lambda: rk.sum(x), n),
        ("sum of rows", lambda: rk.sum(x, axis=1), n),
        ("sum of odd rows", lambda: rk.sum(odd, axis=1), odd.nbytes),
        ("sum of columns", lambda: rk.sum(x, axis=0), n),
        ("argmax of rows", lambda: rk.argmax(x, axis=1), n),
        ("var of rows", lambda: rk.var(x, axis=1), n),
        ("var of columns", lambda: rk.var(x, axis=0), n),
        ("softmax", lambda: rk.softmax(x), 2 * n),
        ("softmax of columns", lambda: rk.softmax(x, axis=0), 2 * n),
        ("layer norm", lambda: rk.layer_norm(x), 2 * n),
        ("layer norm of odd rows", lambda: rk.layer_norm(odd), 2 * odd.nbytes),
        ("rms norm", lambda: rk.rms_norm(x), 2 * n),
        ("transpose", lambda: rk.copy(x.T), 2 * n),
        ("transpose, f16", lambda: rk.copy(half.T), n),
        ("flip", lambda: rk.copy(x[:, ::-1]), 2 * n),
        ("every second column", lambda: rk.copy(x[:, ::2]), 1.5 * n),
        ("stack", lambda: rk.stack([x, x], axis=2), 3 * n),
        ("pad", lambda: rk.pad(x, 1), 2 * n),
        ("roll", lambda: rk.roll(x, 5, axis=1), 2 * n),
        ("tile", lambda: rk.tile(x, (1, 2)), 3 * n),
        ("repeat", lambda: rk.repeat(x, 2, axis=0), 3 * n),
        ("take rows", lambda: rk.take(x, ids, axis=0), 2 * n),
        ("take columns", lambda: rk.take(x, ids, axis=1), 2 * n),
        ("running sums of rows", lambda: rk.cumulative_sum(x, axis=1), 2 * n),
        ("running sums of columns", lambda: rk.cumulative_sum(x, axis=0), 2 * n),
        ("sort rows", lambda: rk.sort(x, axis=1), 2 * n),
    ]


def traffic(case: Case) -> tuple[list[KernelProfile], float]:
    """The kernels of an operation, and what they move over the least."""
    _, call, least = case
    call()
    with rk.profile() as profile:
        call()
    kernels = list(profile)
    return kernels, sum(one.bytes_read + one.bytes_written for one in kernels) / least


def measure(case: Case) -> str:
    """A cell of the table."""
    kernels, moved = traffic(case)
    touched, asked = (sum(getattr(one, name) for one in kernels) for name in ("bytes_touched", "bytes_asked"))
    lowest = min(kernels, key=share)
    limit = "" if share(lowest) == 1 else f" {lowest.occupancy.limit}" if lowest.occupancy else ""
    return f"{moved:.2f}, {asked / max(touched, 1):.2f}, {100 * share(lowest):.0f} %{limit}"


def share(one: KernelProfile) -> float:
    return 1.0 if one.occupancy is None else one.occupancy.share


if __name__ == "__main__":
    main()
