"""Writes docs/scale-costs.md and its picture: what collectives cost on 1 to 4,096 devices, by simulating each device's
sends and receives with published link rates.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from attrs import frozen

DOCS: Final = Path(__file__).resolve().parents[1] / "docs"
PAGE, PICTURE = DOCS / "scale-costs.md", DOCS / "images" / "scale-costs.png"
COUNTS: Final = (1, 2, 4, 8, 16, 64, 512, 4096)
HOST: Final = 8  # devices


@frozen
class Machine:
    """Rates in bytes a second and direction for each device, to those of its host and to the network; seconds a hop."""

    name: str
    inside: float
    outside: float
    hop_inside: float = 2e-6
    hop_outside: float = 6e-6


MACHINES: Final = (
    Machine("H200, NVLink and 400 Gb/s InfiniBand", 450e9, 50e9),
    Machine("MI300X, Infinity Fabric and 400 Gb/s Ethernet", 448e9, 50e9),
)


@frozen
class Cost:
    """Seconds until the last device has its result, and bytes that one device sends on each kind of link."""

    seconds: float
    inside: float
    outside: float

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.seconds + other.seconds, self.inside + other.inside, self.outside + other.outside)


NOTHING: Final = Cost(0.0, 0.0, 0.0)


def ring_steps(count: int, steps: int, nbytes: float, rates: Any, hops: Any) -> float:
    """When the last of `count` devices has all: each sends the next one what it got from the one before, as soon as it
    has that and its link has carried what went ahead.
    """
    got, free = np.zeros(count), np.zeros(count)
    for _ in range(steps):
        free = np.maximum(got, free) + nbytes / rates
        got = np.roll(free + hops, 1)
    return float(got.max())


def ring(machine: Machine, count: int, nbytes: float) -> Cost:
    """All-reduce in one ring through all devices: 2(n−1) steps of an n-th each."""
    if count == 1:
        return NOTHING
    leaves = (np.arange(count) % HOST == HOST - 1) & (count > HOST)  # the last of a host sends over the network
    rates = np.where(leaves, machine.outside, machine.inside)
    hops = np.where(leaves, machine.hop_outside, machine.hop_inside)
    steps, part = 2 * (count - 1), nbytes / count
    return Cost(ring_steps(count, steps, part, rates, hops), steps * part, steps * part if count > HOST else 0.0)


def by_hosts(machine: Machine, count: int, nbytes: float) -> Cost:
    """Reduce-scatter within each host, all-reduce of each eighth between hosts in parallel rings, all-gather within."""
    hosts = count // HOST
    if hosts <= 1:
        return ring(machine, count, nbytes)
    part = nbytes / HOST
    within = ring_steps(HOST, HOST - 1, part, machine.inside, machine.hop_inside)
    between = ring_steps(hosts, 2 * (hosts - 1), part / hosts, machine.outside, machine.hop_outside)
    return Cost(2 * within + between, 2 * (HOST - 1) * part, 2 * (hosts - 1) * part / hosts)


def decoding(machine: Machine, count: int, hidden: int = 4096, layers: int = 32) -> Cost:
    """What a token of a 7B model costs between devices: two all-reduces of its vector a layer, in float32."""
    one = by_hosts(machine, count, 4.0 * hidden)
    return Cost(2 * layers * one.seconds, 2 * layers * one.inside, 2 * layers * one.outside)


def embedding(machine: Machine, count: int, lines: int = 1 << 20) -> Cost:
    """What a million lines of 100 bytes cost by dask: text to the workers, 384 floats a line back, by the network of
    one host, whatever the count.
    """
    moved = lines * (100.0 + 4 * 384)
    return NOTHING if count == 1 else Cost(moved / machine.outside, 0.0, moved / count)


ROWS: Final[tuple[tuple[str, Callable[[Machine, int], Cost]], ...]] = (
    ("all-reduce of 1 GB, one ring", lambda machine, count: ring(machine, count, 1e9)),
    ("all-reduce of 1 GB, by hosts", lambda machine, count: by_hosts(machine, count, 1e9)),
    ("all-reduce of 16 KB, by hosts", lambda machine, count: by_hosts(machine, count, 16384.0)),
    ("a token of a 7B model, tensor-parallel", decoding),
    ("a million lines embedded by dask", embedding),
)
HEAD: Final = """# What several devices cost

Rendered by `scripts/render_costs.py`, which simulates the schedule: each device sends to its neighbour and goes on
when it has what it waits for. A time is that until the last device has its result, without computation; bytes are
those that one device sends to others of its host and to other hosts. Rates are the published ones of one direction,
without protocol; 2 µs a hop within a host of eight and 6 µs between hosts are assumptions. [Two H200](scale.md) took
3.07 ms for a sum of 1 GB, where this says 2.23: the link carried 326 of its 450 GB/s. A sum of 16 KB took them 5.6 µs
in a graph, where this says 4.04.

![Time of collectives by the number of devices](images/scale-costs.png)
"""
TAIL: Final = """
## What follows

- A sum costs twice its bytes on each device's link however many devices there are; what grows is the number of hops.
  Large sums go by hosts: one ring through all devices waits for the network at each of its steps.
- A vector of 16 KB is hops alone. Tensor-parallel decoding stays within a host: in rings eight devices spend 1.8 ms a
  token on 64 sums, more hosts several times that, and a device's share of the matrices is read in less.
- Embedding needs no links between workers. One process that reads the text and writes the vectors is enough for
  thousands of devices as long as they together make fewer than thirty million vectors a second.
"""


def shown(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def amount(nbytes: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if nbytes >= size:
            return f"{nbytes / size:.3g} {unit}"
    return f"{nbytes:.0f}"


def page() -> str:
    parts = [HEAD]
    for machine in MACHINES:
        parts.append(
            f"\n## {machine.name}\n\n{machine.inside / 1e9:.0f} GB/s to devices of the host, "
            f"{machine.outside / 1e9:.0f} GB/s to others.\n\n| | " + " | ".join(f"{n:,}" for n in COUNTS) + " |\n"
            "|---|" + "---|" * len(COUNTS) + "\n"
        )
        for name, cost in ROWS:
            costs = [cost(machine, count) for count in COUNTS]
            parts.append(f"| {name} | " + " | ".join(shown(c.seconds) if c.seconds else "0" for c in costs) + " |\n")
            for what in ("inside", "outside"):
                sent = [getattr(c, what) for c in costs]
                if any(sent):
                    label = "to the host's" if what == "inside" else "to other hosts"
                    parts.append(f"| — sent {label} | " + " | ".join(amount(n) for n in sent) + " |\n")
    return "".join(parts) + TAIL


def draw() -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    counts = [2**k for k in range(1, 13)]
    for axis, nbytes, title in ((axes[0], 1e9, "all-reduce of 1 GB"), (axes[1], 16384.0, "all-reduce of 16 KB")):
        for name, cost, style in (("one ring", ring, "--"), ("by hosts", by_hosts, "-")):
            axis.plot(counts, [cost(MACHINES[0], n, nbytes).seconds * 1e3 for n in counts], style, label=name)
        axis.set(title=title, xscale="log", yscale="log", xlabel="devices", ylabel="ms")
        axis.set_xticks([2, 8, 64, 512, 4096], ["2", "8", "64", "512", "4096"])
        axis.grid(alpha=0.3)
        axis.legend()
    figure.suptitle(MACHINES[0].name)
    figure.savefig(PICTURE, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    draw()
