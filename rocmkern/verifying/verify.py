"""Runs the cases on a device: against NumPy, the emulator of the same target, and the rate of a copy."""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final, Literal

import attrs
import numpy as np
from attrs import frozen

import rocmkern as rk
from rocmkern.errors import DeviceNotFound, RocmkernError
from rocmkern.kernels import families, shipped
from rocmkern.runtime import Device, KernelTime
from rocmkern.verifying import arranged, blocks, elementwise, launched, products, rows, written
from rocmkern.verifying.case import Array, Case, bits

Status = Literal["right", "wrong", "failed"]
_ROUNDS: Final = 3  # of what is timed, after one that isn't
UNDER_WAY: Final = "the process ended while it ran"


@frozen
class Verdict:
    """What became of one case.

    `error` is the largest one over what is allowed, `differing` how many results have other bits than the emulator's
    (None where that was not asked), `rate` what the larger case read and wrote, in GB/s.
    """

    case: str
    kernels: tuple[str, ...]
    status: Status
    error: float | None = None
    differing: int | None = None
    rate: float | None = None
    reason: str = ""


@frozen
class Machine:
    """What was verified: verdicts of another machine or of other kernels don't count. `copy_rate` is in GB/s."""

    device: str
    marketing: str
    arch: str
    version: str
    code: str
    copy_rate: float | None

    def is_same(self, other: Machine) -> bool:
        return attrs.evolve(self, copy_rate=None) == attrs.evolve(other, copy_rate=None)


def cases() -> Iterator[Case]:
    """Every case, in the order in which they run."""
    return chain.from_iterable(
        module.cases() for module in (elementwise, rows, arranged, products, blocks, launched, written)
    )


def machine(device: Device, nbytes: int) -> Machine:
    """What `device` is; how fast it copies so many bytes, unless that is 0. Raises TargetNotBuilt without kernels."""
    digest = hashlib.sha256()
    for name in families.names():
        digest.update(shipped.code(name, device.info.arch))
    copy_rate = None
    if nbytes:
        copied = np.zeros(nbytes, np.uint8)
        copy_rate = _rate(Case("copy", rk.copy, (copied,)), (copied,), device)
    info = device.info
    return Machine(info.name, info.marketing, info.arch, rk.__version__, digest.hexdigest(), copy_rate)


def emulated(device: Device) -> Device | None:
    """The emulator of the device's target; None where that has none or is the device."""
    if device.info.unified:
        return None
    try:
        return Device(f"emulator:{device.info.target}")
    except DeviceNotFound:
        return None


def verify(
    device: Device, todo: Iterable[Case], nbytes: int, began: Callable[[Case], None] = lambda case: None
) -> Iterator[Verdict]:
    """A verdict for each case; those that grow are timed with so many bytes of operands, unless that is 0.

    Ends early where a case leaves the device of no use to this process.
    """
    beside = emulated(device)
    for case in todo:
        began(case)
        verdict = _tried(case, device, beside, nbytes)
        yield verdict
        if verdict.status == "failed" and not is_usable(device):
            return


def is_usable(device: Device) -> bool:
    try:
        return bool(rk.ones((1,), device=device).numpy()[0] == 1)
    except RocmkernError:
        return False


def _tried(case: Case, device: Device, beside: Device | None, nbytes: int) -> Verdict:
    kernels: tuple[str, ...] = ()
    try:
        results, times = _run(case, case.arrays, device)
        kernels = tuple(sorted({each.kernel for each in times}))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy's, of rows without a number
            error = case.error(results)
        differing = None
        if beside is not None:
            wanted, _ = _run(case, case.arrays, beside)
            differing = sum(bits(a) != bits(b) for a, b in zip(results, wanted, strict=True))
        rate = _rate(case, case.grown(nbytes), device) if case.grows and nbytes else None
    except RocmkernError as fault:
        return Verdict(case.name, kernels, "failed", reason=f"{type(fault).__name__}: {fault}")
    reason = _fault(error, differing)
    status: Status = "wrong" if reason else "right"
    return Verdict(case.name, kernels, status, error if math.isfinite(error) else None, differing, rate, reason)


def _fault(error: float, differing: int | None) -> str:
    """What is wrong with results; empty for nothing."""
    if not math.isfinite(error):
        return "another value, or a number that is none"
    if error > 1:
        return "beyond what rounding allows"
    return "other bits than the emulator's" if differing else ""


def _run(case: Case, arrays: tuple[Array, ...], device: Device) -> tuple[tuple[Array, ...], list[KernelTime]]:
    with rk.Trace() as trace:
        results = case.results(tuple(rk.asarray(a, device=device) for a in arrays))
        found = tuple(t.numpy() for t in results)
    return found, trace.totals()


def _rate(case: Case, arrays: tuple[Array, ...], device: Device) -> float:
    """GB/s of a case's launches by the device's clock, where each result reads all operands once."""
    tensors = tuple(rk.asarray(a, device=device) for a in arrays)
    results = case.results(tensors)
    moved = len(results) * sum(t.nbytes for t in tensors) + sum(t.nbytes for t in results)
    least = math.inf
    for _ in range(_ROUNDS):
        with rk.Trace() as trace:
            case.results(tensors)
        least = min(least, sum(each.milliseconds for each in trace.totals()))
    return float(moved / max(least, 1e-6) / 1e6)


@frozen
class Run:
    """A run that may be broken off and gone on with."""

    machine: Machine
    verdicts: list[Verdict]

    @staticmethod
    def begun(path: Path, here: Machine) -> Run:
        """What `path` holds of a run on this machine with these kernels; otherwise a new one, begun there."""
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        held = [json.loads(line) for line in lines if line.endswith("\n")]  # the last may be broken off
        if held and Machine(**held[0]).is_same(here):
            path.write_text("".join(line for line in lines if line.endswith("\n")))
            return Run(Machine(**held[0]), _verdicts(held[1:]))
        path.write_text(json.dumps(attrs.asdict(here)) + "\n")
        return Run(here, [])


def _verdicts(held: list[dict[str, Any]]) -> list[Verdict]:
    """A case that began and has no verdict is one that ended the process."""
    found = {}
    for each in held:
        if "began" in each:
            found[each["began"]] = Verdict(each["began"], (), "failed", reason=UNDER_WAY)
        else:
            found[each["case"]] = Verdict(**{**each, "kernels": tuple(each["kernels"])})
    return [*found.values()]


def note(path: Path, what: Verdict | Case) -> None:
    """Adds a line to a run's file: a verdict, or that a case began."""
    line = {"began": what.name} if isinstance(what, Case) else attrs.asdict(what)
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")
