"""Kernels made for their shapes against the generic ones, and tuned matrix products against the default ones.

    python benchmarks/bench_specialized.py [--device NAME] [--kernels DIR] [--generate ARCH] [--json FILE] [--plot FILE]

Medians of the kernels' own time by events, each launch behind a fill that empties the caches. `--generate` only makes
the kernels and the tuning candidates for a target in DIR, for a machine without a compiler.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from attrs import asdict, frozen
from rich.console import Console

import rocmkern as rk
from rocmkern.build import instances, toolchain
from rocmkern.cli.output import table
from rocmkern.kernels import families, instance_files
from rocmkern.ops import specialized
from rocmkern.specialize import config
from rocmkern.specialize.generate import generate
from rocmkern.tuning import problems, tune
from rocmkern.tuning.measure import Clock
from rocmkern.tuning.process import Worker

Call = Callable[[], rk.Tensor]
# Products of a transformer, of a classifier, and square ones; M, N, K.
PRODUCTS = (
    (128, 4096, 4096), (512, 4096, 4096), (2048, 4096, 4096), (512, 11008, 4096), (512, 4096, 11008), (96, 1000, 2048),
    (1000, 1000, 1000), (2048, 2048, 2048), (4096, 4096, 4096), (64, 512, 8192),
)  # fmt: skip


@frozen
class Row:
    """One comparison, times in microseconds."""

    name: str
    before_us: float
    after_us: float
    kernel: str

    @property
    def gain(self) -> float:
        return self.before_us / self.after_us


def operations(device: rk.Device) -> Iterator[tuple[str, Call]]:
    """The operations that are specialised, on operands made before."""

    def values(*shape: int, dtype: rk.DType = rk.float32) -> rk.Tensor:
        host = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
        return rk.asarray(host.astype(dtype.numpy), device=device)

    padded, rows = values(16, 64, 128, 320), values(16, 1, 128, 256)
    yield "add 4-d, padded rows + a repeated axis, f32", lambda: rk.add(padded[..., :256], rows)
    turned = rk.permute_dims(values(16, 64, 128, 256), (0, 2, 1, 3))
    half = values(16, 128, 64, 256, dtype=rk.float16)
    yield "add 4-d, two axes exchanged, f32", lambda: rk.add(turned, turned)
    yield "gelu 4-d, two axes exchanged, f16", lambda: rk.gelu(rk.permute_dims(half, (0, 2, 1, 3)))
    square = values(8192, 4096)
    yield "transposed copy 8192×4096, f32", lambda: rk.copy(square.T)
    short = values(8192, 4096, dtype=rk.float16)
    yield "transposed copy 8192×4096, f16", lambda: rk.copy(short.T)
    for m, n, k in ((2048, 2048, 2048), (1000, 3000, 500), (512, 4096, 1024)):
        x, y = values(m, k), values(n, k)
        yield f"mul_mat {m}×{n}×{k}, f32", partial(rk.matmul, x, y.T)


def microseconds(clock: Clock, call: Call, iterations: int) -> tuple[float, str]:
    """The median time of the kernels of a call, and their names."""
    times, names = [], ""
    for _ in range(iterations + 3):
        rows = clock.kernels(call)
        times.append(1000 * sum(row.milliseconds for row in rows))
        names = ", ".join(row.kernel for row in rows)
    return statistics.median(times[3:]), names


def compare(device: rk.Device, kernels: Path, iterations: int) -> Iterator[Row]:
    """Each operation with the generic kernel, then with its own; the results are equal, sums within their rounding."""
    clock = Clock(device)
    for name, call in operations(device):
        os.environ.pop(instance_files.KERNEL_FOLDERS, None)
        specialized.configure()
        generic, (before, was) = call().numpy(), microseconds(clock, call, iterations)
        os.environ[instance_files.KERNEL_FOLDERS] = str(kernels)
        specialized.configure()
        own, (after, kernel) = call().numpy(), microseconds(clock, call, iterations)
        if kernel == was:
            raise SystemExit(f"{name}: no kernel of its own in {kernels}; make them with --generate")
        tolerance = 1e-3 if "mul_mat" in name else 0.0
        np.testing.assert_allclose(own.astype(np.float64), generic.astype(np.float64), tolerance, tolerance)
        yield Row(name, before, after, kernel)


def tuned(device: rk.Device, iterations: int, dtypes: tuple[str, ...]) -> Iterator[Row]:
    """The default product of each shape against the best instance."""
    with Worker.on(str(device.name), 3, iterations) as worker:
        todo = [problems.make("matmul", dtype=t, m=m, n=n, k=k) for t in dtypes for m, n, k in PRODUCTS]
        for result in tune.tune(todo, worker, seconds=60, tried=lambda problem, candidate: None):
            best, default = result.best, result.default_microseconds
            m, n, k = result.problem.key
            if best is None or best.microseconds is None or default is None:
                errors = {c.name: c.error for c in result.candidates if c.error}
                print(f"matmul {m}×{n}×{k}: nothing was right: {errors}")
                continue
            yield Row(f"matmul {m}×{n}×{k}, {result.problem.dtype}", default, best.microseconds, best.name)


def make_kernels(arch: str, folder: Path, dtypes: tuple[str, ...]) -> None:
    """What a comparison on a device of `arch` needs: its kernels, recorded on the emulator, and the candidates."""
    recorded: dict[str, object] = {}
    device = rk.Device("emulator:gfx942")
    specialized.enabled = True
    for _, call in operations(device):
        specialized._run = lambda op, rows, output, out, operands: bool(
            recorded.setdefault(json.dumps(specialized._entry(op, rows, output, device)), True)
        )
        call()
    requests = config.requests({"kernels": [json.loads(text) for text in recorded]}, targets=(arch,))
    compiler = toolchain.detect()
    generate(
        requests, folder, compiler, jobs=os.cpu_count() or 1,
        report=lambda request, what, error: print(what, request.exported_name, error or ""),
    )  # fmt: skip
    kernels = [k for t in dtypes for i in families.instances("matmul", t) for k in i.unshipped]
    jobs = instances.plan(kernels, arch, folder / "instances")
    instances.build_all(
        jobs, compiler, workers=os.cpu_count() or 1, done=lambda job, error: print(job.name, error or "")
    )


def plot(rows: list[Row], title: str, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 0.32 * len(rows) + 1.2), layout="constrained")
    axes.barh(range(len(rows)), [row.gain for row in rows], color="#2a7")
    axes.set_yticks(range(len(rows)), [row.name for row in rows], fontsize=7)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set(xlabel="time before ÷ time after", title=title)
    axes.invert_yaxis()
    figure.savefig(path, dpi=130)
    pyplot.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--device", help="the default device if absent")
    parser.add_argument("--kernels", type=Path, default=Path("kernels"))
    parser.add_argument("--generate", metavar="ARCH")
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--dtypes", default="f32", help="of the tuned products, with commas between")
    parser.add_argument("--only", choices=("specialised", "tuned"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    dtypes = tuple(options.dtypes.split(","))
    if options.generate:
        make_kernels(options.generate, options.kernels, dtypes)
        return
    device = rk.Device(options.device)
    os.environ[instance_files.KERNEL_FOLDERS] = str(options.kernels)
    products = [] if options.only == "specialised" else list(tuned(device, options.iterations, dtypes))
    special = [] if options.only == "tuned" else list(compare(device, options.kernels, options.iterations))
    console = Console(width=160)
    for title, rows in (("specialised against generic", special), ("tuned against default", products)):
        cells = [(r.name, f"{r.before_us:.1f}", f"{r.after_us:.1f}", f"{r.gain:.2f}×", r.kernel) for r in rows]
        console.print(
            table(f"{title}, {device.info.marketing}", ("", "µs before", "µs after", "gain", "kernel"), cells)
        )
    if options.json:
        document = {"device": device.info.marketing, "specialised": special, "tuned": products}
        options.json.write_text(json.dumps(document, default=asdict, indent=1))
    if options.plot:
        plot([*special, *products], f"specialised and tuned kernels, {device.info.marketing}", options.plot)


if __name__ == "__main__":
    main()
