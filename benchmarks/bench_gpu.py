"""Operations on a GPU: ours, PyTorch's and CuPy's in the same run, against the measured device-to-device copy.

    python benchmarks/bench_gpu.py [--device cuda:0] [--only TEXT] [--json FILE] [--plot FILE] [--dirty]

Times by events, the better of two medians; GB/s count each byte read or written once; matrix products count 2·M·N·K
operations. It needs PyTorch with a GPU; CuPy is timed where it is installed.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from attrs import asdict, frozen

import rocmkern as rk

try:
    import cupy
except ImportError:
    cupy = None

Call = Callable[[], Any]
TORCH = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "u8": torch.uint8}
SIDE = 16384
ELEMENTS = 1 << 28
HOST_ROUNDS, HOST_CALLS = 60, 200
VISITS, MOST_PASSES = 2, 16


@frozen
class Case:
    """One operation; `calls` by library, each on operands made before. `work` is bytes, or operations for products."""

    name: str
    calls: dict[str, Call]
    work: float
    unit: str = "GB/s"


@frozen
class Row:
    """Times in ms and the share of the copy rate (of PyTorch's rate for products), by library."""

    name: str
    unit: str
    milliseconds: dict[str, float]
    rate: dict[str, float]
    share: dict[str, float]


class Bench:
    """Operands and timing on one device; a tensor of ours shares no memory with the peers'."""

    def __init__(self, device: rk.Device, dirty: bool = False) -> None:
        self.device = device
        self.dirty = dirty
        self.flood = torch.zeros(1 << 26, device="cuda")
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False

    def pair(self, shape: tuple[int, ...], kind: str = "f32") -> tuple[rk.Tensor, torch.Tensor]:
        host = torch.rand(shape, device="cuda").mul_(255 if kind == "u8" else 1).to(TORCH[kind])
        raw = host.view(torch.uint8) if kind == "bf16" else host
        return rk.asarray(raw.cpu().numpy().view(rk.dtype(kind).numpy), device=self.device), host

    def milliseconds(self, call: Call, budget: float = 0.075) -> float:
        """The median over at least five calls, after two to warm up.

        Each call is queued behind a pass over 256 MB, which leaves nothing of the operands in the L2 cache and takes
        longer than the host needs for a launch. Where the host took longer still, for that moment or because the
        operation makes many launches, the events would time the host: such a call is not counted, and from then on
        twice as many passes are made. So what lies between the events is the device's time alone.

        The pass reads, as weights and operands are read before a call in use; one that writes (`dirty`) leaves the
        cache full of what the call has to write back, up to 50 MB on an H100, before its own bytes find room.
        """
        for _ in range(2):
            call()
        torch.cuda.synchronize()
        times: list[float] = []
        end, passes = time.perf_counter() + budget, 1
        while len(times) < 5 or (time.perf_counter() < end and len(times) < 30):
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            for _ in range(passes):
                if self.dirty:
                    self.flood.zero_()
                else:
                    self.flood.sum()
            start.record()
            call()
            stop.record()
            is_late = start.query()
            stop.synchronize()
            if is_late and passes < MOST_PASSES:
                passes *= 2
            else:
                times.append(start.elapsed_time(stop))
        return statistics.median(times)


def elementwise(b: Bench) -> Iterator[Case]:
    gelu = torch.nn.functional.gelu
    for kind, size in (("f32", 4), ("f16", 2), ("bf16", 2)):
        (x, tx), (y, ty) = b.pair((ELEMENTS,), kind), b.pair((ELEMENTS,), kind)
        two = 2.0 * ELEMENTS * size
        yield Case(f"affine {kind}", {"ours": lambda: x * 2.0, "torch": lambda: tx * 2.0}, two)
        yield Case(f"exp {kind}", {"ours": lambda: rk.exp(x), "torch": lambda: torch.exp(tx)}, two)
        yield Case(f"gelu erf {kind}", {"ours": lambda: rk.gelu(x), "torch": lambda: gelu(tx)}, two)
        yield Case(
            f"gelu tanh {kind}",
            {"ours": lambda: rk.gelu_tanh(x), "torch": lambda: gelu(tx, approximate="tanh")},
            two,
        )
        yield Case(f"silu {kind}", {"ours": lambda: rk.silu(x), "torch": lambda: torch.nn.functional.silu(tx)}, two)
        yield Case(f"add {kind}", {"ours": lambda: x + y, "torch": lambda: tx + ty}, 1.5 * two)
        mask, tmask = b.pair((ELEMENTS,), "u8")
        mask, tmask = rk.greater(mask, 127), tmask > 127
        yield Case(
            f"where {kind}",
            {"ours": lambda: rk.where(mask, x, y), "torch": lambda: torch.where(tmask, tx, ty)},
            1.5 * two + ELEMENTS,
        )
        if kind == "f32":
            yield Case(
                "cast f32 to f16", {"ours": lambda: x.astype(rk.float16), "torch": lambda: tx.half()}, 0.75 * two
            )
        side = b.pair((SIDE, SIDE), kind)
        row = b.pair((SIDE,), kind)
        yield Case(f"add row {kind}", {"ours": lambda: side[0] + row[0], "torch": lambda: side[1] + row[1]}, two)


def movement(b: Bench) -> Iterator[Case]:
    for kind, size in (("f32", 4), ("f16", 2), ("u8", 1)):
        x, tx = b.pair((SIDE, SIDE), kind)
        calls = {"ours": lambda: rk.copy(x.T), "torch": lambda: tx.T.contiguous()}
        yield Case(f"transpose {kind}", calls, 2.0 * SIDE * SIDE * size)
        x4, t4 = b.pair((64, 64, 256, 256), kind)
        axes = (0, 2, 3, 1)
        calls = {
            "ours": lambda: rk.copy(rk.permute_dims(x4, axes)),
            "torch": lambda: t4.permute(axes).contiguous(),
        }
        yield Case(f"permute 4-d {kind}", calls, 2.0 * ELEMENTS * size)
    table, ttable = b.pair((1 << 17, 1024))
    at = np.random.default_rng(0).integers(0, 1 << 17, 1 << 17)
    ids, tids = rk.asarray(at, device=b.device), torch.from_numpy(at).cuda()
    moved = 2.0 * 4 * (1 << 27)
    calls = {"ours": lambda: rk.take(table, ids, axis=0), "torch": lambda: ttable.index_select(0, tids)}
    yield Case("index_select rows of 1024", calls, moved)
    zero, tzero = b.pair((1 << 17, 1024))
    calls = {
        "ours": lambda: rk.index_add(zero, ids, table, axis=0),
        "torch": lambda: tzero.index_add(0, tids, ttable),
    }
    yield Case("index_add rows of 1024", calls, 2 * moved)
    x, tx = b.pair((1024, 1 << 16))
    each = np.random.default_rng(0).integers(0, 1024, (1024, 1 << 16))
    places, tplaces = rk.asarray(each, device=b.device), torch.from_numpy(each).cuda()
    calls = {"ours": lambda: rk.scatter_add(x, places, x, axis=0), "torch": lambda: tx.scatter_add(0, tplaces, tx)}
    yield Case("scatter_add 1024×65536", calls, 20.0 * each.size)


def rows(b: Bench) -> Iterator[Case]:
    functional = torch.nn.functional
    for kind, size in (("f32", 4), ("f16", 2), ("bf16", 2)):
        for shape in ((SIDE, SIDE), (1 << 20, 256), (256, 1 << 20), (1, 1 << 28)):
            x, tx = b.pair(shape, kind)
            label, read = f"{shape[0]}×{shape[1]} {kind}", float(size * shape[0] * shape[1])
            yield Case(f"sum {label}", {"ours": lambda: rk.sum(x, axis=1), "torch": lambda: tx.sum(1)}, read)
            yield Case(f"max {label}", {"ours": lambda: rk.max(x, axis=1), "torch": lambda: tx.amax(1)}, read)
        for shape in ((SIDE, SIDE), (1 << 18, 1024), (1 << 21, 128)):
            x, tx = b.pair(shape, kind)
            label, moved = f"{shape[0]}×{shape[1]} {kind}", 2.0 * size * shape[0] * shape[1]
            yield Case(f"softmax {label}", {"ours": lambda: rk.softmax(x), "torch": lambda: tx.softmax(-1)}, moved)
            w, tw = b.pair(shape[1:], kind)
            calls = {
                "ours": lambda: rk.layer_norm(x, w, w),
                "torch": lambda: functional.layer_norm(tx, shape[1:], tw, tw),
            }
            yield Case(f"layer norm {label}", calls, moved)
            calls = {"ours": lambda: rk.rms_norm(x, w), "torch": lambda: functional.rms_norm(tx, shape[1:], tw)}
            yield Case(f"rms norm {label}", calls, moved)
    for shape in ((1 << 16, 1024), (64, 1 << 20)):
        tz = torch.view_as_complex(b.pair((*shape, 2))[1])
        z, moved = rk.asarray(tz.cpu().numpy(), device=b.device), 16.0 * shape[0] * shape[1]
        calls = {"ours": lambda: rk.fft.fft(z), "torch": lambda: torch.fft.fft(tz)}
        yield Case(f"fft {shape[0]}×{shape[1]}", calls, moved)
    for shape in ((65536, 1024), (1, 1 << 24)):
        x, tx = b.pair(shape)
        calls = {"ours": lambda: rk.argsort(x), "torch": lambda: tx.argsort(-1)}
        yield Case(f"argsort {shape[0]}×{shape[1]}", calls, 12.0 * shape[0] * shape[1])


def products(b: Bench) -> Iterator[Case]:
    for kind in ("f32", "f16"):
        x, tx = b.pair((4096, 4096), kind)
        yield Case(f"matmul 4096³ {kind}", {"ours": lambda: x @ x, "torch": lambda: tx @ tx}, 2.0 * 4096**3, "GFLOP/s")
    for n, c, hw, o, k in ((16, 64, 56, 64, 3), (8, 3, 224, 64, 7)):
        x, tx = b.pair((n, c, hw, hw))
        w, tw = b.pair((o, c, k, k))
        out = hw - k + 1
        calls = {"ours": lambda: rk.conv2d(x, w), "torch": lambda: torch.nn.functional.conv2d(tx, tw)}
        yield Case(f"conv2d {n}×{c}×{hw}² {o} k{k}", calls, 2.0 * n * o * out * out * c * k * k, "GFLOP/s")
    for rows_, columns in ((131072, 4096), (4096, 4096), (14336, 4096)):
        dense = rk.zeros((rows_, columns), device=b.device)
        for name in ("q4_0", "q4_k", "q6_k", "q8_0"):
            weight = rk.quantize(dense, name)
            for batch in (1, 8) if rows_ < 100_000 else (1,):
                x, _ = b.pair((batch, columns))
                calls = {"ours": lambda: weight.matmul(x)}
                yield Case(f"{name} mat-vec {rows_}×{columns} batch {batch}", calls, float(weight.nbytes))


def host_time(b: Bench) -> dict[str, float]:
    """Microseconds of host time for an operation on a tiny tensor: the libraries take turns, the median counts."""
    x, tx = b.pair((16,))
    calls: dict[str, Call] = {"ours": lambda: x + x, "torch": lambda: tx + tx}
    if cupy is not None:
        cx = cupy.ones(16, cupy.float32)
        calls["cupy"] = lambda: cx + cx
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(HOST_ROUNDS):
        for name, call in calls.items():
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(HOST_CALLS):
                call()
            times[name].append((time.perf_counter() - start) / HOST_CALLS * 1e6)
    return {name: statistics.median(found) for name, found in times.items()}


def with_cupy(case: Case) -> Case:
    """The elementwise operations of one float32 array in CuPy too."""
    if cupy is None or not case.name.endswith(" f32"):
        return case
    forms = {"affine f32": lambda a: a * 2, "exp f32": cupy.exp, "add f32": lambda a: a + a}
    form = forms.get(case.name)
    if form is None:
        return case
    a = cupy.ones(ELEMENTS, cupy.float32)
    return Case(case.name, {**case.calls, "cupy": lambda: form(a)}, case.work, case.unit)


def visit(b: Bench, case: Case, name: str) -> float:
    """A median in ms; infinite for a call that fails, which is said."""
    try:
        return b.milliseconds(case.calls[name])
    except Exception as error:
        print(f"{case.name}: {name} failed: {type(error).__name__}: {error}", flush=True)
        return math.inf


def measure(b: Bench, case: Case, copy: float) -> Row:
    """The libraries take turns, and of each the better of its visits' medians counts: clocks, and what else uses the
    machine, change for longer than a visit.
    """
    times = dict.fromkeys(case.calls, math.inf)
    for _ in range(VISITS):
        times = {name: min(found, visit(b, case, name)) for name, found in times.items()}
    times = {name: found for name, found in times.items() if found < math.inf}
    rates = {name: case.work / found / 1e6 for name, found in times.items()}
    base = copy if case.unit == "GB/s" else rates.get("torch", 1.0)
    return Row(case.name, case.unit, times, rates, {name: rate / base for name, rate in rates.items()})


def plot(found: list[Row], title: str, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 0.32 * len(found) + 1.5), layout="constrained")
    at = np.arange(len(found))
    for offset, library, colour in ((-0.27, "ours", "#2a7"), (0, "torch", "#c74"), (0.27, "cupy", "#68b")):
        axes.barh(at + offset, [row.share.get(library, 0) for row in found], 0.26, label=library, color=colour)
    axes.set_yticks(at, [row.name for row in found], fontsize=7)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set(xlabel="share of the copy rate (products: of PyTorch's rate)", title=title)
    axes.legend()
    axes.margins(y=0.005)
    axes.invert_yaxis()
    figure.savefig(path, dpi=130)
    pyplot.close(figure)


def copy_rate(b: Bench) -> float:
    """GB/s of a device-to-device copy of a gigabyte, read and written."""
    source, target = torch.ones(ELEMENTS, device="cuda"), torch.empty(ELEMENTS, device="cuda")
    return 8.0 * ELEMENTS / b.milliseconds(lambda: target.copy_(source)) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--only", default="", help="operations whose name holds this text")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--dirty", action="store_true", help="time calls behind a write of 256 MB, not a read")
    options = parser.parse_args()
    b = Bench(rk.Device(options.device), options.dirty)
    copy = copy_rate(b)
    card, release = torch.cuda.get_device_name(), importlib.metadata.version("torch")
    print(f"{card}; PyTorch {release}; copy {copy:.0f} GB/s")
    found = []
    for group in (elementwise, movement, rows, products):
        for case in group(b):
            if options.only in case.name:
                row = measure(b, with_cupy(case), copy)
                found.append(row)
                cells = [f"{k} {row.rate[k]:8.0f} {row.unit} {100 * row.share[k]:5.1f} %" for k in row.rate]
                print(f"{row.name:36}", "   ".join(cells), flush=True)
        b.device.trim()
        torch.cuda.empty_cache()
    overhead = host_time(b)
    print("host time of a tiny add, µs:", ", ".join(f"{k} {v:.1f}" for k, v in overhead.items()))
    if options.json:
        document = {"card": card, "torch": release, "copy_gbps": copy, "host_us": overhead}
        options.json.write_text(json.dumps({**document, "rows": [asdict(row) for row in found]}, indent=1))
    if options.plot:
        plot(found, f"{card}, PyTorch {release}, copy {copy:.0f} GB/s", options.plot)


if __name__ == "__main__":
    main()
