"""Operations drawn at random, ours and PyTorch's in turns on one GPU: how the speeds are distributed.

    python benchmarks/bench_breadth.py [--device cuda:0] [--seed 20261129] [--cases 600] [--seconds 0]
                                       [--only TEXT] [--json FILE] [--plot FILE]

Operations are drawn uniformly by public name, then dtype, shape, axis and layout; sizes log-uniformly, a third each
below 2^14 elements, to 2^21, and above. The seed of a run is the date, so no case is ever tuned for. Times are wall
clock over back-to-back calls, host and device, the median of five visits that take turns; a case's ratio is PyTorch's
time by ours. Both libraries read the same memory, and what they compute is compared.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import torch
from attrs import asdict, frozen

import rocmkern as rk

Call = Callable[[], Any]
VISITS = 5
VISIT_S = 0.008
BANDS = ((10, 14), (14, 21), (21, 27))  # log2 of the elements
FLOATS = ("float32", "float32", "float16", "bfloat16", "float64")
INTEGERS = ("int32", "int64", "uint8", "int16")
TOLERANCE = {"float64": 1e-9, "float32": 2e-4, "float16": 2e-2, "bfloat16": 8e-2}
UNARY = (
    "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "exp", "expm1", "floor", "isfinite", "isnan", "log",
    "log1p", "log2", "negative", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "square",
    "tan", "tanh", "trunc", "gelu", "relu", "silu",
)  # fmt: skip
BINARY = (
    "add", "atan2", "copysign", "divide", "equal", "floor_divide", "greater", "hypot", "less_equal", "logaddexp",
    "maximum", "minimum", "multiply", "pow", "remainder", "subtract",
)  # fmt: skip


@frozen
class Case:
    """One drawn call; `compared` says whether both give the same values."""

    name: str
    ours: Call
    torch: Call
    compared: bool = True


@frozen
class Row:
    """Milliseconds of a case in both libraries, by the median."""

    name: str
    band: int
    ours: float
    torch: float
    is_right: bool

    @property
    def ratio(self) -> float:
        return self.torch / self.ours


class Draw:
    """Random operands on one device, of about as many elements as drawn."""

    def __init__(self, rng: random.Random, device: rk.Device, band: int) -> None:
        self.rng, self.device, self.band = rng, device, band
        low, high = BANDS[band]
        self.elements = int(2 ** rng.uniform(low, high))
        self.where = "cuda" if device.info.name.startswith("cuda") else "cpu"
        self.told = ""

    def shape(self, dims: int | None = None, elements: int | None = None) -> tuple[int, ...]:
        """A product near the elements drawn, its parts of any length, odd ones too."""
        left, dims = elements or self.elements, dims or self.rng.randint(1, 4)
        found = []
        for axis in range(dims - 1):
            n = max(1, min(left, int(2 ** self.rng.uniform(0, 2 * math.log2(max(left, 2)) / (dims - axis)))))
            found.append(n)
            left = max(left // n, 1)
        found.append(left)
        self.rng.shuffle(found)
        return tuple(found)

    def floating(self) -> str:
        return self.rng.choice(FLOATS)

    def tensor(self, shape: tuple[int, ...], dtype: str, low: float = 0.1, high: float = 2.0) -> torch.Tensor:
        """Values of a tensor that is contiguous, or a transposed, stepped or flipped one's copy-free view."""
        made = torch.rand(shape, device=self.where) * (high - low) + low
        made = made.to(getattr(torch, dtype))
        if len(shape) >= 2 and self.rng.random() < 0.2:
            self.told += " T"
            made = made.transpose(-1, -2).contiguous().transpose(-1, -2)
        elif self.rng.random() < 0.1:
            self.told += " step"
            made = made.repeat_interleave(2, dim=-1)[..., ::2]
        return made

    def axis(self, x: torch.Tensor) -> int:
        axis = self.rng.randrange(x.ndim)
        self.told += f" axis {axis}"
        return axis


def ours(x: torch.Tensor) -> rk.Tensor:
    return rk.from_dlpack(x)


def told(d: Draw, name: str, x: torch.Tensor) -> str:
    return f"{name} {str(x.dtype).removeprefix('torch.')} {tuple(x.shape)}{d.told}"


def unary(name: str) -> Callable[[Draw], Case]:
    def made(d: Draw) -> Case:
        x = d.tensor(d.shape(), d.floating(), *((-0.9, 0.9) if name in ("acos", "asin") else (0.1, 2.0)))
        f = {"gelu": torch.nn.functional.gelu, "relu": torch.relu, "silu": torch.nn.functional.silu}.get(name)
        f = f or getattr(torch, name)
        y = ours(x)
        return Case(told(d, name, x), lambda: getattr(rk, name)(y), lambda: f(x))

    return made


def binary(name: str) -> Callable[[Draw], Case]:
    def made(d: Draw) -> Case:
        shape, dtype = d.shape(), d.floating()
        x = d.tensor(shape, dtype)
        small = tuple(1 if d.rng.random() < 0.2 else n for n in shape)
        y = d.tensor(small, dtype)
        f = {"equal": torch.eq}.get(name) or getattr(torch, name)
        a, b = ours(x), ours(y)
        return Case(told(d, name, x) + f" with {small}", lambda: getattr(rk, name)(a, b), lambda: f(x, y))

    return made


def reduction(name: str) -> Callable[[Draw], Case]:
    def made(d: Draw) -> Case:
        x = d.tensor(d.shape(), d.rng.choice(("float32", "float16", "bfloat16")))
        axis = d.axis(x)
        theirs: dict[str, Call] = {
            "sum": lambda: torch.sum(x, axis), "mean": lambda: torch.mean(x, axis), "max": lambda: torch.amax(x, axis),
            "min": lambda: torch.amin(x, axis), "prod": lambda: torch.prod(x, axis), "any": lambda: torch.any(x, axis),
            "var": lambda: torch.var(x, axis, correction=0), "std": lambda: torch.std(x, axis, correction=0),
            "argmax": lambda: torch.argmax(x, axis), "argmin": lambda: torch.argmin(x, axis),
            "logsumexp": lambda: torch.logsumexp(x, axis), "count_nonzero": lambda: torch.count_nonzero(x, axis),
            "softmax": lambda: torch.softmax(x, axis), "log_softmax": lambda: torch.log_softmax(x, axis),
            "cumulative_sum": lambda: torch.cumsum(x, axis), "cumulative_prod": lambda: torch.cumprod(x, axis),
            "sort": lambda: torch.sort(x, dim=axis, stable=True)[0],
            "argsort": lambda: torch.argsort(x, dim=axis, stable=True),
            "median": lambda: torch.median(x, axis)[0], "flip": lambda: torch.flip(x, (axis,)),
        }  # fmt: skip
        y = ours(x)

        def call() -> rk.Tensor:
            found: rk.Tensor = getattr(rk, name)(y, axis=axis)
            return rk.copy(found) if name == "flip" else found

        same = name not in ("median", "argmax", "argmin", "prod", "cumulative_prod", "argsort")
        return Case(told(d, name, x), call, theirs[name], same)

    return made


def joined(name: str) -> Callable[[Draw], Case]:
    def made(d: Draw) -> Case:
        count = d.rng.randint(2, 5)
        shape = d.shape(elements=max(d.elements // count, 1))
        xs = [d.tensor(shape, "float32") for _ in range(count)]
        axis = d.axis(xs[0])
        ys = [ours(x) for x in xs]
        if name == "concat":
            return Case(told(d, f"concat of {count}", xs[0]), lambda: rk.concat(ys, axis), lambda: torch.cat(xs, axis))
        return Case(told(d, f"stack of {count}", xs[0]), lambda: rk.stack(ys, axis), lambda: torch.stack(xs, axis))

    return made


def moved(name: str) -> Callable[[Draw], Case]:
    def made(d: Draw) -> Case:
        x = d.tensor(d.shape(d.rng.randint(2, 4)), d.rng.choice((*FLOATS[1:], "int64")))
        y, axis = ours(x), d.axis(x)
        order = list(range(x.ndim))
        d.rng.shuffle(order)
        n, times = x.shape[axis], d.rng.randint(2, 3)
        index = torch.randint(0, n, (max(n // 2, 1),), device=x.device)
        ids = ours(index)
        each = torch.randint(0, n, x.shape, device=x.device)
        of_each = ours(each)
        shift = d.rng.randint(1, 5)
        calls: dict[str, tuple[Call, Call]] = {
            "permute copy": (lambda: rk.copy(y.permute(*order)), lambda: x.permute(*order).contiguous()),
            "astype": (lambda: y.astype(rk.float32, copy=True), lambda: x.to(torch.float32, copy=True)),
            "roll": (lambda: rk.roll(y, shift, axis=axis), lambda: torch.roll(x, shift, axis)),
            "tile": (lambda: rk.tile(y, (times,) * x.ndim), lambda: x.tile((times,) * x.ndim)),
            "repeat": (lambda: rk.repeat(y, times, axis=axis), lambda: x.repeat_interleave(times, axis)),
            "take": (lambda: rk.take(y, ids, axis=axis), lambda: torch.index_select(x, axis, index)),
            "take_along_axis": (lambda: rk.take_along_axis(y, of_each, axis=axis), lambda: torch.gather(x, axis, each)),
            "x[::2]": (lambda: rk.copy(y[::2]), lambda: x[::2].contiguous()),
            "where": (lambda: rk.where(y > 1, y, 0), lambda: torch.where(x > 1, x, 0)),
            "clip": (lambda: rk.clip(y, 0, 1), lambda: torch.clip(x, 0, 1)),
            "tril": (lambda: rk.tril(y), lambda: torch.tril(x)),
            "x[mask]": (lambda: y[y > 1], lambda: x[x > 1]),
            "nonzero": (lambda: rk.nonzero(y > 1)[0], lambda: torch.nonzero(x > 1, as_tuple=True)[0]),
            "copy": (lambda: rk.copy(y), lambda: x.clone(memory_format=torch.contiguous_format)),
        }  # fmt: skip
        mine, theirs = calls[name]
        return Case(told(d, name, x), mine, theirs)

    return made


def counted(name: str) -> Callable[[Draw], Case]:
    def made(d: Draw) -> Case:
        n, bins = d.elements, int(2 ** d.rng.uniform(2, 20))
        ids = torch.randint(0, bins, (n,), device=d.where)
        x = torch.rand(n, device=d.where)
        edges = torch.linspace(0, 1, min(bins, 1 << 16), device=d.where)
        y, i, e = ours(x), ours(ids), ours(edges)
        zeros = torch.zeros(bins, device=d.where)
        z = ours(zeros)
        calls: dict[str, tuple[Call, Call]] = {
            "bincount": (lambda: rk.bincount(i), lambda: torch.bincount(ids)),
            "searchsorted": (lambda: rk.searchsorted(e, y), lambda: torch.searchsorted(edges, x)),
            "unique_values": (lambda: rk.unique_values(i), lambda: torch.unique(ids)),
            "index_add": (lambda: rk.index_add(z, i, y), lambda: zeros.index_add(0, ids, x)),
            "scatter_add": (lambda: rk.scatter_add(z, i, y, axis=0), lambda: zeros.scatter_add(0, ids, x)),
            "quantile": (lambda: rk.quantile(y, 0.3), lambda: x.kthvalue(max(int(0.3 * n), 1))[0]),
        }  # fmt: skip
        mine, theirs = calls[name]
        return Case(f"{name} of {n} float32 into {bins}", mine, theirs, name != "quantile")

    return made


def top_k(d: Draw) -> Case:
    x = d.tensor(d.shape(2), "float32")
    k = d.rng.randint(1, min(64, x.shape[-1]))
    y = ours(x)
    return Case(told(d, f"top_k {k}", x), lambda: rk.top_k(y, k)[0], lambda: torch.topk(x, k)[0])


def norm(name: str) -> Callable[[Draw], Case]:
    def made(d: Draw) -> Case:
        x = d.tensor(d.shape(2), d.rng.choice(FLOATS[1:4]))
        w = torch.rand(x.shape[-1], device=d.where).to(x.dtype)
        y, v, f = ours(x), ours(w), torch.nn.functional
        if name == "layer_norm":
            return Case(told(d, name, x), lambda: rk.layer_norm(y, v, v), lambda: f.layer_norm(x, w.shape, w, w))
        return Case(told(d, name, x), lambda: rk.rms_norm(y, v), lambda: f.rms_norm(x, w.shape, w, 1e-5))

    return made


def attention(d: Draw) -> Case:
    heads, size = d.rng.randint(1, 16), d.rng.choice((32, 64, 128))
    length = max(1, min(4096, d.elements // (heads * size)))
    dtype = d.rng.choice(("float32", "float16", "bfloat16"))
    q, k, v = (torch.randn(1, heads, length, size, device=d.where).to(getattr(torch, dtype)) for _ in range(3))
    a, b, c = ours(q), ours(k), ours(v)
    f = torch.nn.functional.scaled_dot_product_attention
    return Case(told(d, "attention", q), lambda: rk.scaled_dot_product_attention(a, b, c), lambda: f(q, k, v))


OPERATIONS: dict[str, Callable[[Draw], Case]] = {
    **{name: unary(name) for name in UNARY},
    **{name: binary(name) for name in BINARY},
    **{
        name: reduction(name)
        for name in (
            "sum", "mean", "max", "min", "prod", "any", "var", "std", "argmax", "argmin", "logsumexp", "count_nonzero",
            "softmax", "log_softmax", "cumulative_sum", "cumulative_prod", "sort", "argsort", "median", "flip",
        )
    },
    **{name: joined(name) for name in ("concat", "stack")},
    **{
        name: moved(name)
        for name in (
            "permute copy", "astype", "roll", "tile", "repeat", "take", "take_along_axis", "x[::2]", "where", "clip",
            "tril", "x[mask]", "nonzero", "copy",
        )
    },
    **{
        name: counted(name)
        for name in ("bincount", "searchsorted", "unique_values", "index_add", "scatter_add", "quantile")
    },
    "top_k": top_k, "layer_norm": norm("layer_norm"), "rms_norm": norm("rms_norm"), "attention": attention,
}  # fmt: skip


def synchronize(device: rk.Device) -> None:
    device.synchronize()
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def per_call(device: rk.Device, call: Call, count: int) -> float:
    """Milliseconds of one of so many calls back to back."""
    start = time.perf_counter()
    for _ in range(count):
        call()
    synchronize(device)
    return (time.perf_counter() - start) / count * 1e3


def agree(found: Any, wanted: torch.Tensor, name: str) -> bool:
    mine = torch.from_dlpack(found)
    if tuple(mine.shape) != tuple(wanted.shape):
        return False
    near = max(TOLERANCE.get(word, 0.0) for word in [*name.split(), "float64"])
    a, b = mine.to(torch.float64), wanted.to(torch.float64)
    scale = float(b.abs().nan_to_num(0, 0, 0).max()) if b.numel() else 0.0
    return bool(torch.allclose(a, b, rtol=near, atol=near * max(scale, 1e-30), equal_nan=True))


def measure(device: rk.Device, case: Case, band: int) -> Row:
    """Both in turns, as often as a visit lasts."""
    is_right = not case.compared or agree(case.ours(), case.torch(), case.name)
    counts, times = {}, dict[str, list[float]]()
    for name, call in (("ours", case.ours), ("torch", case.torch)):
        per_call(device, call, 2)
        once = per_call(device, call, 2) / 1e3
        counts[name] = max(1, min(500, int(VISIT_S / max(once, 1e-7))))
        times[name] = []
    for _ in range(VISITS):
        for name, call in (("ours", case.ours), ("torch", case.torch)):
            times[name].append(per_call(device, call, counts[name]))
    return Row(case.name, band, statistics.median(times["ours"]), statistics.median(times["torch"]), is_right)


def geomean(values: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values))) if values else float("nan")


def report(rows: list[Row], failures: list[str]) -> None:
    """The distribution by size, the kinds by their geomean, the worst cases, and what went wrong."""
    for band, (low, high) in enumerate(BANDS):
        ratios = [r.ratio for r in rows if r.band == band]
        if ratios:
            below = [sum(q < limit for q in ratios) / len(ratios) for limit in (0.7, 0.95, 1.0)]
            print(
                f"2^{low}..2^{high}: {len(ratios)} cases, geomean {geomean(ratios):.2f}, below 0.7 / 0.95 / 1: "
                + " / ".join(f"{share:.0%}" for share in below)
            )
    kinds: dict[str, list[float]] = {}
    for r in rows:
        kinds.setdefault(r.name.split(" ")[0], []).append(r.ratio)
    print(
        "by operation:",
        ", ".join(f"{k} {geomean(v):.2f}" for k, v in sorted(kinds.items(), key=lambda i: geomean(i[1]))),
    )
    for r in sorted(rows, key=lambda r: r.ratio)[:25]:
        print(f"{r.ratio:8.3f}  ours {r.ours:9.4f} ms  torch {r.torch:9.4f} ms  {r.name}")
    for r in rows:
        if not r.is_right:
            print("OTHER VALUES", r.name)
    for text in failures:
        print("FAILED", text)


def plot(rows: list[Row], title: str, path: Path) -> None:
    """Bars by operation against PyTorch, worst first."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    kinds: dict[str, list[float]] = {}
    for r in rows:
        kinds.setdefault(r.name.split(" ")[0], []).append(r.ratio)
    found = sorted((geomean(v), k) for k, v in kinds.items())
    figure, axes = plt.subplots(figsize=(8, 0.16 * len(found) + 1))
    axes.barh(
        [k for _, k in found], [v for v, _ in found], color=["#c0392b" if v < 0.95 else "#2e7d32" for v, _ in found]
    )
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.margins(y=0.01)
    axes.invert_yaxis()
    axes.tick_params(axis="y", labelsize=6)
    axes.set_title(title, fontsize=9)
    axes.set_xlabel("PyTorch's time by ours")
    figure.tight_layout()
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--seed", type=int, default=int(datetime.now(timezone.utc).strftime("%Y%m%d")))
    parser.add_argument("--cases", type=int, default=600)
    parser.add_argument("--seconds", type=float, default=0.0, help="end after so long; 0: all cases")
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    rng, device = random.Random(options.seed), rk.Device(options.device)
    torch.manual_seed(options.seed)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    names = [name for name in OPERATIONS if options.only in name]
    rows, failures, start = list[Row](), list[str](), time.monotonic()
    with torch.no_grad():
        for number in range(options.cases):
            if options.seconds and time.monotonic() - start > options.seconds:
                break
            name, band = rng.choice(names), rng.randrange(len(BANDS))
            draw = Draw(random.Random(rng.random()), device, band)
            try:
                rows.append(measure(device, OPERATIONS[name](draw), band))
            except Exception as error:  # told at the end: one case must not hide the others
                failures.append(f"{name} in band {band}, case {number}: {type(error).__name__}: {error}"[:300])
                continue
            print(
                f"\r{len(rows)} of {options.cases}, {rows[-1].ratio:.2f} {rows[-1].name[:70]:70}",
                end="",
                file=sys.stderr,
            )
    print(file=sys.stderr)
    when = f"seed {options.seed}, {datetime.now(timezone.utc):%Y-%m-%d}, PyTorch {torch.__version__}"
    title = f"{len(rows)} cases on {device.info.marketing}, {when}"
    print(title)
    report(rows, failures)
    if options.json:
        options.json.write_text(json.dumps([asdict(r) | {"ratio": r.ratio} for r in rows], indent=1))
    if options.plot:
        plot(rows, title, options.plot)


if __name__ == "__main__":
    main()
