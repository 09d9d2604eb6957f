"""Times collectives between processes with a device each, beside PyTorch's in turns where that is installed.

    python benchmarks/bench_collectives.py [--processes 2] [--device cuda] [--largest 1073741824] [--out FILE]

One command starts all processes; under torchrun or mpirun each process is one of theirs. Bandwidths are the bus
bandwidths of nccl-tests (PERFORMANCE.md there): bytes over time, times what a link carries of each byte, 2(n−1)/n for
all_reduce and (n−1)/n for the others, whose bytes are those of all processes together. The median of rounds in which
ours and PyTorch's take turns; a round's time is the slowest process's.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import rocmkern as rk

SMALLEST, STEP = 4096, 4
CARRIED = {"all_reduce": 2.0, "all_gather": 1.0, "reduce_scatter": 1.0}  # of each byte, times (n−1)/n
Calls = dict[str, Callable[[], object]]  # by whose they are


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--device", help="cuda, hip, emulator:gfx942, …; each process takes the one of its number")
    parser.add_argument("--largest", type=int, default=1 << 30, help="bytes")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path, help="a JSON file for all times")
    options = parser.parse_args()
    if "RANK" in os.environ or "OMPI_COMM_WORLD_RANK" in os.environ:
        measure(options)
        return 0
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = {"WORLD_SIZE": str(options.processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    started = []
    for rank in range(options.processes):
        own = {"RANK": str(rank), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(options.processes)}
        started.append(subprocess.Popen([sys.executable, *sys.argv], env={**os.environ, **common, **own}))
    return max(abs(process.wait()) for process in started)


def measure(options: argparse.Namespace) -> None:
    """What each process does; the first one tells."""
    with contextlib.ExitStack() as stack:
        torch = _torch(options.device, stack)
        group = stack.enter_context(rk.distributed.init(options.device, timeout=120.0))
        rows = []
        if group.rank == 0:
            print(f"{group.size} × {group.device.info.marketing}, {group.backend.name}; bus GB/s, median of rounds")
            print(
                f"{'':16}{'bytes':>12}{'us':>12}{'GB/s':>9}"
                + (f"{'PyTorch us':>12}{'GB/s':>9}{'ratio':>8}" if torch else "")
            )
        size = SMALLEST
        while size <= options.largest:
            for operation, calls in _calls(group, torch, size):
                times = _times(group, calls, size, options.rounds)
                row = _row(operation, size, group.size, times)
                rows.append(row)
                if group.rank == 0:
                    _tell(row)
            size *= STEP
        if group.rank == 0 and options.out is not None:
            found = {
                "device": group.device.info.marketing,
                "processes": group.size,
                "library": group.backend.name,
                "torch": torch.__version__ if torch else None,
                "date": time.strftime("%Y-%m-%d"),
                "rows": rows,
            }
            options.out.write_text(json.dumps(found, indent=1))


def _torch(device: str | None, stack: contextlib.ExitStack) -> Any:
    """PyTorch with its processes joined; None where it is not there, or knows neither the devices nor the launcher."""
    try:
        import torch
    except ImportError:
        return None
    kind = (device or "").partition(":")[0]
    if kind == "emulator" or "LOCAL_RANK" not in os.environ or not torch.cuda.is_available():
        return None
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.distributed.init_process_group("nccl", device_id=torch.device("cuda", torch.cuda.current_device()))
    stack.callback(torch.distributed.destroy_process_group)
    return torch


def _calls(group: rk.distributed.Group, torch: Any, size: int) -> Iterator[tuple[str, Calls]]:
    """Each operation on `size` bytes, checked: all of the memory for all_reduce, the larger side of the others."""
    n, d = group.size, rk.distributed
    whole = size // 4 // n * n
    own = slice(group.rank * (whole // n), (group.rank + 1) * (whole // n))
    pattern = np.arange(whole, dtype=np.float32) % 1000
    x = rk.asarray(pattern + group.rank, device=group.device)
    part = x[own]
    total = pattern * n + sum(range(n))
    y, small = rk.empty((whole,), device=group.device), rk.empty((whole // n,), device=group.device)
    _check(d.all_reduce(x, out=y), total)
    _check(d.reduce_scatter(x, out=small), total[own])
    _check(d.all_gather(part, out=y), np.concatenate([pattern[r * (whole // n) :][: whole // n] + r for r in range(n)]))
    x.fill(0)
    theirs: dict[str, Callable[[], object]] = {}
    if torch:
        tx, ty = (torch.zeros(whole, device="cuda") for _ in range(2))
        small_t = torch.zeros(whole // n, device="cuda")
        t = torch.distributed
        theirs = {
            "all_reduce": lambda: t.all_reduce(tx),
            "all_gather": lambda: t.all_gather_into_tensor(ty, small_t),
            "reduce_scatter": lambda: t.reduce_scatter_tensor(small_t, tx),
        }
    ours: dict[str, Callable[[], object]] = {
        "all_reduce": lambda: d.all_reduce(x, out=x),
        "all_gather": lambda: d.all_gather(small, out=y),
        "reduce_scatter": lambda: d.reduce_scatter(x, out=small),
    }
    for operation, call in ours.items():
        yield operation, {"ours": call} | ({"torch": theirs[operation]} if torch else {})


def _check(found: rk.Tensor, expected: Any) -> None:
    np.testing.assert_array_equal(found.numpy(), expected)


def _times(group: rk.distributed.Group, calls: Calls, size: int, rounds: int) -> dict[str, list[float]]:
    """Seconds a call in each round, of the slowest process."""
    emulated = group.device.info.unified
    repeats = 1 if emulated else max(5, min(100, (256 << 20) // size))
    for call in calls.values():
        for _ in range(1 if emulated else 5):
            call()
    found: dict[str, list[float]] = {whose: [] for whose in calls}
    for _ in range(rounds):
        for whose, call in calls.items():
            group.device.synchronize()
            rk.distributed.barrier(group)
            start = time.perf_counter()
            for _ in range(repeats):
                call()
            group.device.synchronize()
            found[whose].append((time.perf_counter() - start) / repeats)
    return {
        whose: rk.distributed.all_reduce(rk.asarray(times, dtype=rk.float64, device=group.device), "max").tolist()
        for whose, times in found.items()
    }


def _row(operation: str, size: int, n: int, times: dict[str, list[float]]) -> dict[str, Any]:
    row: dict[str, Any] = {"operation": operation, "bytes": size}
    for whose, seconds in times.items():
        median = statistics.median(seconds)
        bandwidth = size / median * CARRIED[operation] * (n - 1) / n / 1e9
        row[whose] = {"us": median * 1e6, "bus_gb_s": bandwidth, "rounds_us": [s * 1e6 for s in seconds]}
    return row


def _tell(row: dict[str, Any]) -> None:
    ours, theirs = row["ours"], row.get("torch")
    text = f"{row['operation']:16}{row['bytes']:12}{ours['us']:12.1f}{ours['bus_gb_s']:9.2f}"
    if theirs:
        text += f"{theirs['us']:12.1f}{theirs['bus_gb_s']:9.2f}{theirs['us'] / ours['us']:8.3f}"
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
