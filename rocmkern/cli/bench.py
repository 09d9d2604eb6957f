"""`rocmkern bench`: a few operations of every family, against NumPy in the same run."""

from __future__ import annotations

import importlib.util
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
import numpy as np
from attrs import asdict, frozen

from rocmkern.cli.output import console, json_option, print_json, table

if TYPE_CHECKING:
    import rocmkern as rk

Call = Callable[[], Any]
Unit = Literal["GB/s", "GFLOP/s"]


@frozen
class Case:
    """One operation: our call, the peers' calls by name, and what one call moves (bytes) or computes (operations)."""

    family: str
    operation: str
    ours: Call
    peers: dict[str, Call]
    work: float
    unit: Unit


@frozen
class Row:
    """Medians of one operation, in units of 10⁹ a second; `ratio` is ours over NumPy's."""

    family: str
    operation: str
    unit: Unit
    ours: float
    peers: dict[str, float]
    ratio: float


def cases(device: rk.Device, n: int) -> list[Case]:
    """The operations on about `n` float32 elements, each with NumPy's form."""
    import rocmkern as rk

    rng = np.random.default_rng(0)
    side = max(16, int(n**0.5))
    flat = rng.standard_normal(n, dtype=np.float32)
    square = rng.standard_normal((side, side), dtype=np.float32)
    small = square[: max(16, side // 8), : max(16, side // 8)].copy()
    ids = rng.integers(0, side, side)
    x, s, m, at = (rk.asarray(a, device=device) for a in (flat, square, small, ids))
    image = rk.asarray(square[None, None], device=device)
    kernel = np.ones((1, 1, 3, 3), np.float32)
    k = rk.asarray(kernel, device=device)
    windows = np.lib.stride_tricks.sliding_window_view(square, (3, 3))
    bytes_of = 4.0 * n
    grid = 4.0 * side * side
    cube = 2.0 * len(small) ** 3
    return [
        _case("affine", "2x + 1", lambda: x * 2.0 + 1.0, lambda: flat * 2 + 1, 2 * bytes_of),
        _case("fill", "full", lambda: rk.full((n,), 2.0, device=device), lambda: np.full(n, 2.0, np.float32), bytes_of),
        _case("binary", "x + x", lambda: x + x, lambda: flat + flat, 3 * bytes_of),
        _case("unary", "exp", lambda: rk.exp(x), lambda: np.exp(flat), 2 * bytes_of),
        _case("ternary", "where", lambda: rk.where(x > 0, x, x), lambda: np.where(flat > 0, flat, flat), 3 * bytes_of),
        _case("cast", "f32 to f16", lambda: x.astype(rk.float16), lambda: flat.astype(np.float16), 1.5 * bytes_of),
        _case("indexing", "take rows", lambda: rk.take(s, at, axis=0), lambda: square[ids], 2 * grid),
        _case("reduce", "sum of rows", lambda: rk.sum(s, axis=1), lambda: square.sum(1), grid),
        _case("reduce", "softmax", lambda: rk.softmax(s), lambda: _softmax(square), 2 * grid),
        _case("sort", "argsort of rows", lambda: rk.argsort(s), lambda: square.argsort(1), 3 * grid),
        _case("matmul", f"{len(small)}³", lambda: m @ m, lambda: small @ small, cube, "GFLOP/s"),
        _case(
            "conv",
            "3 × 3",
            lambda: rk.conv2d(image, k),
            lambda: np.einsum("ijkl,kl->ij", windows, kernel[0, 0]),
            18.0 * side * side,
            "GFLOP/s",
        ),
        _quantized(device, square[:, : side // 32 * 32]),
    ]


def _case(family: str, operation: str, ours: Call, numpy: Call, work: float, unit: Unit = "GB/s") -> Case:
    return Case(family, operation, ours, {"numpy": numpy}, work, unit)


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    out: np.ndarray = e / e.sum(-1, keepdims=True)
    return out


def _quantized(device: rk.Device, matrix: np.ndarray) -> Case:
    import rocmkern as rk

    vector = np.ones(matrix.shape[1], np.float32)
    weight = rk.quantize(rk.asarray(matrix, device=device), "q8_0")
    x = rk.asarray(vector, device=device)
    operations = 2.0 * matrix.size
    return Case(
        "quantized", "q8_0 mat-vec", lambda: weight.matmul(x), {"numpy": lambda: matrix @ vector}, operations, "GFLOP/s"
    )


def torch_peer(device: rk.Device, case: Case, n: int) -> Call | None:
    """PyTorch's form of the large elementwise operations, on the same device where it can be."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    on = "cuda" if device.info.name.startswith(("hip", "cuda")) and torch.cuda.is_available() else "cpu"
    x = torch.ones(n, device=on)
    calls: dict[str, Call] = {
        "2x + 1": lambda: x * 2 + 1,
        "x + x": lambda: x + x,
        "exp": lambda: torch.exp(x),
        "where": lambda: torch.where(x > 0, x, x),
        "f32 to f16": lambda: x.half(),
    }
    call = calls.get(case.operation)
    if call is None or on == "cpu":
        return call

    def waited() -> None:
        call()
        torch.cuda.synchronize()

    return waited


def seconds(call: Call, device: rk.Device, budget: float) -> float:
    """The median time of a call, after one to warm up; at least three calls, more while `budget` seconds last."""
    call()
    device.synchronize()
    times: list[float] = []
    end = time.perf_counter() + budget
    while len(times) < 3 or (time.perf_counter() < end and len(times) < 50):
        start = time.perf_counter()
        call()
        device.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def measure(case: Case, device: rk.Device, budget: float) -> Row:
    ours = case.work / seconds(case.ours, device, budget) / 1e9
    peers = {name: case.work / seconds(call, device, budget) / 1e9 for name, call in case.peers.items()}
    return Row(case.family, case.operation, case.unit, ours, peers, ours / peers["numpy"])


def plot(rows: list[Row], title: str, path: Path) -> None:
    """A bar chart of ours over NumPy, one bar an operation."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 0.4 * len(rows) + 1.2), layout="constrained")
    labels = [f"{row.family}: {row.operation}" for row in rows]
    bars = axes.barh(labels, [row.ratio for row in rows], color=["#2a7" if row.ratio >= 1 else "#c74" for row in rows])
    axes.bar_label(bars, [f"{row.ratio:.2f}× ({row.ours:.1f} {row.unit})" for row in rows], padding=3)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set(xscale="log", xlabel="rocmkern over NumPy, same run (right is faster)", title=title)
    axes.margins(x=0.3)
    axes.invert_yaxis()
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


@click.command()
@click.option("--device", "device_name", help="hip:0, emulator:gfx942, …; default: the first GPU, else the emulator.")
@click.option("--size", type=click.IntRange(1024), default=1 << 20, show_default=True, help="Elements of the arrays.")
@click.option("--family", "families", multiple=True, help="Only these families; may be given several times.")
@click.option(
    "--seconds", "budget", type=click.FloatRange(0), default=0.5, show_default=True, help="Time per operation."
)
@click.option("--plot", "picture", type=click.Path(dir_okay=False, path_type=Path), help="Also draw a bar chart (PNG).")
@json_option
def bench(
    device_name: str | None, size: int, families: tuple[str, ...], budget: float, picture: Path | None, as_json: bool
) -> None:
    """Time operations of every family against NumPy in the same run, as a ratio.

    On the emulator the times are those of the emulation: they say nothing about a GPU. Where PyTorch is installed, its
    elementwise operations are timed too, on the same device.

    \b
    Examples:
      rocmkern bench
      rocmkern bench --family reduce --size 16777216 --plot bench.png
    """
    import rocmkern as rk

    device = rk.Device(device_name)
    rows = []
    known = cases(device, size)
    unknown = set(families) - {case.family for case in known}
    if unknown:
        names = ", ".join(dict.fromkeys(case.family for case in known))
        raise click.UsageError(f"no benchmark for {', '.join(sorted(unknown))}; there are {names}")
    out = console()
    for case in known:
        if families and case.family not in families:
            continue
        other = torch_peer(device, case, size)
        if other is not None:
            case.peers["torch"] = other
        with out.status(f"{case.family}: {case.operation}"):
            rows.append(measure(case, device, budget))
    if picture is not None:
        plot(rows, f"{device.info.name} ({device.info.marketing}), {size:,} float32", picture)
    if as_json:
        print_json({"device": device.info.name, "size": size, "rows": [asdict(row) for row in rows]})
        return
    cells = [
        (r.family, r.operation, *(f"{v:.2f}" for v in (r.ours, r.peers["numpy"])), r.unit, f"{r.ratio:.2f}",
         f"{r.peers['torch']:.2f}" if "torch" in r.peers else "")
        for r in rows
    ]  # fmt: skip
    headings = ("family", "operation", "rocmkern", "numpy", "unit", "ratio", "torch")
    out.print(table(f"{device.info.name}, {size:,} float32", headings, cells))
