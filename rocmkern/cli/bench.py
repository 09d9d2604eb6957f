"""`rocmkern bench`: operations of every family, against NumPy, PyTorch and CuPy in the same run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from attrs import asdict, frozen
from rich.console import Console

from rocmkern.cli.output import OutputFile, console, json_option, print_json

if TYPE_CHECKING:
    from rocmkern.cli.bench_libraries import Library, Operation

_SIZE_EMULATED: Final = 1 << 20
_SIZE_ON_GPU: Final = 1 << 24  # beyond the caches
_WIDTHS: Final = 12, 26, 10, 12  # of the first columns
_COLOURS: Final = {"numpy": "#2a7", "torch": "#c74", "cupy": "#57b"}


@frozen
class Row:
    """Medians of one operation, in units of 10⁹ a second; `over` is ours divided by each peer's."""

    family: str
    operation: str
    unit: str
    ours: float
    peers: dict[str, float]
    over: dict[str, float]


def measure(operation: Operation, ours: Library, peers: Sequence[Library], budget: float) -> Row:
    """Time one operation in every library. A peer that fails is named on stderr and left out of the row."""

    mine = _rate(operation, ours, budget)
    timed = ((peer.name, _rate_or_reason(operation, peer, budget)) for peer in peers)
    rates = {name: rate for name, rate in timed if rate is not None}
    over = {name: mine / theirs for name, theirs in rates.items()}
    return Row(operation.family, operation.name, operation.unit, mine, rates, over)


def _rate(operation: Operation, library: Library, budget: float) -> float:
    return operation.work / library.seconds(library.calls[operation.name], budget) / 1e9


def _rate_or_reason(operation: Operation, library: Library, budget: float) -> float | None:
    """The rate; None where another library's own error was printed instead."""
    try:
        return _rate(operation, library, budget)
    except Exception as error:
        reason = (str(error).splitlines() or [""])[0]
        Console(stderr=True).print(f"{operation.name}: {library.name} failed: {type(error).__name__}: {reason}")
        return None


def plot(rows: Sequence[Row], title: str, path: Path) -> None:
    """A bar chart of ours over each peer's, a group of bars an operation."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = list(dict.fromkeys(name for row in rows for name in row.over))
    thick = 0.8 / max(1, len(names))
    height = max(0.4, 0.22 * len(names)) * len(rows) + 1.4
    figure, axes = pyplot.subplots(figsize=(9, height), layout="constrained")
    for index, name in enumerate(names):
        held = [(at, row) for at, row in enumerate(rows) if name in row.over]
        places = [at - 0.4 + thick * (index + 0.5) for at, _ in held]
        bars = axes.barh(places, [row.over[name] for _, row in held], thick, label=name, color=_COLOURS[name])
        axes.bar_label(bars, [f"{row.over[name]:.2f}×" for _, row in held], padding=3, fontsize=7)
    labels = [f"{row.family}: {row.operation} ({row.ours:.1f} {row.unit})" for row in rows]
    axes.set_yticks(range(len(rows)), labels, fontsize=8)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set(xscale="log", xlabel="rocmkern over the other library, same run (right is faster)", title=title)
    axes.margins(x=0.15)
    axes.invert_yaxis()
    axes.legend(title="against")
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


@click.command()
@click.option("--device", "device_name", help="hip:0, emulator:gfx942, …; default: the first GPU, else the emulator.")
@click.option("--size", type=click.IntRange(1024), help="Elements of the arrays; default: 2²⁰ emulated, 2²⁴ on a GPU.")
@click.option("--family", "families", multiple=True, help="Only these families; may be given several times.")
@click.option(
    "--seconds", "budget", type=click.FloatRange(0), default=0.3, show_default=True, help="Time per operation."
)
@click.option("--plot", "picture", type=OutputFile(), help="Also draw a bar chart (PNG).")
@json_option
def bench(
    device_name: str | None,
    size: int | None,
    families: tuple[str, ...],
    budget: float,
    picture: Path | None,
    as_json: bool,
) -> None:
    """Time operations of every family against NumPy in the same run, as rates and ratios.

    PyTorch and CuPy are timed too where they are installed for the same device. On a GPU, theirs and ours are timed by
    events; NumPy stays on the CPU. On the emulator, whose peers run on the CPU, the times are those of the emulation:
    they say nothing about a GPU.

    \b
    Examples:
      rocmkern bench
      rocmkern bench --family reduce --size 16777216 --plot bench.png
    """
    import rocmkern as rk
    from rocmkern.cli import bench_libraries

    device = rk.Device(device_name)
    emulated = device.info.unified
    n = size if size is not None else _SIZE_EMULATED if emulated else _SIZE_ON_GPU
    side = max(16, int(n**0.5) // (8 if emulated else 1))
    data = bench_libraries.Data(n, side)
    known = data.operations()
    unknown = set(families) - {operation.family for operation in known}
    if unknown:
        names = ", ".join(dict.fromkeys(operation.family for operation in known))
        raise click.UsageError(f"no benchmark for {', '.join(sorted(unknown))}; there are {names}")
    out = Console(stderr=True) if as_json else console()
    with out.status("making the operands"):
        ours, peers = bench_libraries.ours(device, data), bench_libraries.peers(device, data)
    columns = [peer.name for peer in peers]
    title = f"{device.info.name} ({device.info.marketing}), {n:,} float32; matrix product {side}³"
    if not as_json:
        out.print(f"{title}\nIn brackets: rocmkern's rate over that library's.\n", highlight=False)
        out.print(_line(("family", "operation", "unit", "rocmkern", *columns)), style="bold", highlight=False)
    rows = list[Row]()
    interrupted = False
    try:
        for operation in known:
            if not families or operation.family in families:
                with out.status(f"{operation.family}: {operation.name}"):
                    rows.append(measure(operation, ours, peers, budget))
                if not as_json:
                    out.print(_line(_cells(rows[-1], columns)), highlight=False)
    except KeyboardInterrupt:
        interrupted = True
    if picture is not None and rows:
        plot(rows, title, picture)
    if as_json:
        document = {"device": device.info.name, "marketing": device.info.marketing, "size": n, "product_side": side}
        print_json({**document, "rows": [asdict(row) for row in rows]})
    if interrupted:
        raise KeyboardInterrupt


def _cells(row: Row, columns: Sequence[str]) -> tuple[str, ...]:
    theirs = (f"{row.peers[n]:.2f} ({row.over[n]:.2f}×)" if n in row.peers else "" for n in columns)
    return row.family, row.operation, row.unit, f"{row.ours:.2f}", *theirs


def _line(cells: Sequence[str]) -> str:
    """One row, in columns of a fixed width, as it is printed before the next ones are known."""
    return "".join(f"{cell:<{width}}" for cell, width in zip(cells, (*_WIDTHS, *(20,) * len(cells)), strict=False))
