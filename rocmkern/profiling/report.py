"""Profiles as people and programs read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from attrs import asdict

from rocmkern.profiling.profile import KernelProfile

COLUMNS: Final = (
    "kernel", "grid × block", "launches", "wave instructions", "lanes on", "asked for", "coalescing", "moved at least",
    "occupancy", "estimate", "by",
)  # fmt: skip


def row(one: KernelProfile, size: Callable[[int], str]) -> tuple[object, ...]:
    """The cells of `COLUMNS`; `size` writes bytes."""
    held = "" if one.occupancy is None else f"{100 * one.occupancy.share:.0f} %"
    return (
        one.name, f"{_dims(one.grid)} × {_dims(one.block)}", one.launches, sum(one.instructions.values()),
        f"{100 * one.active:.0f} %", size(one.bytes_asked), f"{one.coalescing:.2f}",
        size(one.bytes_read + one.bytes_written), held, duration(one.estimate) if one.seconds else "", one.limit,
    )  # fmt: skip


def notes(one: KernelProfile, hot: int) -> Iterator[str]:
    """What a row has no room for, and up to `hot` of the lines that ran most often."""
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(one.instructions.items(), key=lambda i: -i[1]))
    yield f"\n{one.name}: {kinds}"
    if one.occupancy is not None:
        held = one.occupancy
        advice = f"; {held.advice}" if held.advice else ""
        yield f"  {held.waves:g} of {held.most} waves on a SIMD, by {held.limit}{advice}"
    if one.seconds:
        bounds = ", ".join(f"{name} {duration(seconds)}" for name, seconds in one.seconds.items())
        yield f"  on {one.chip} at least: {bounds} (an estimate, not a measurement)"
    for line in one.hot[:hot]:
        touched = f", {line.bytes:,} bytes in {line.lines:,} lines" if line.bytes else ""
        yield f"  {line.runs:>12,} × {line.where}{touched}"


def as_dict(one: KernelProfile) -> dict[str, Any]:
    """The profile with what follows from it. Times in seconds, sizes in bytes."""
    derived = {"coalescing": one.coalescing, "limit": one.limit, "estimate": one.estimate}
    return asdict(one) | derived


def duration(seconds: float) -> str:
    """A time with the unit that suits it."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def _dims(dims: tuple[int, int, int]) -> str:
    return "×".join(map(str, dims)).removesuffix("×1").removesuffix("×1")
