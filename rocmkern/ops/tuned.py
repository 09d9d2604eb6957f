"""Tuned instances: where a table says which setting was fastest for a problem, the operation uses it.

Tables are `<operation>.csv` (or `<operation>.<anything>.csv`) in `tuned/` of the user's configuration folder, or the
files and folders of ROCMKERN_TUNED, or those given to `use_tuned`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from attrs import define, field, frozen

from rocmkern import targets
from rocmkern.dtypes import DType
from rocmkern.engine.operation import forget_plans
from rocmkern.errors import ArgumentError, ConfigError, KernelNotFound
from rocmkern.kernels import families, instance_files
from rocmkern.kernels.tunable import Instance
from rocmkern.kernels.tuned import TunedRow, TunedTable
from rocmkern.layout import normal_integer
from rocmkern.paths import config_folder
from rocmkern.runtime import Device
from rocmkern.runtime.device import DeviceLike, open_device

VARIABLE: Final = "ROCMKERN_TUNED"
PROBLEM: Final = ("M", "N", "K", "dtype")
DEFAULT: Final = "default"  # the kernelName of what the operation does by itself
_FALLBACK: Final = "the default instance"
_KEPT: Final = 4096  # decisions


@frozen
class Decision:
    """The instance that a problem is solved with, None for the default, and what each step found."""

    instance: Instance | None
    steps: tuple[str, ...]


@define(eq=False)
class Tables:
    """The tables of each operation, read when it is first asked for."""

    paths: dict[str, tuple[Path, ...]]
    _read: dict[str, TunedTable] = field(init=False, factory=dict)
    _decisions: dict[tuple[Any, ...], Decision] = field(init=False, factory=dict)
    forced: Instance | None = None

    def table(self, op: str) -> TunedTable | None:
        if op not in self.paths:
            return None
        if op not in self._read:
            self._read[op] = TunedTable.read(self.paths[op], PROBLEM)
        return self._read[op]

    def decide(self, op: str, device: Device, dtype: str, m: int, n: int, k: int) -> Decision:
        """What the tables say of a problem, looked up once."""
        if self.forced is not None and self.forced.op == op:
            return Decision(self.forced, (f"forced: {self.forced.name}",))
        key = (op, device.info.arch, device.info.compute_units, dtype, m, n, k)
        found = self._decisions.get(key)
        if found is None:
            if len(self._decisions) >= _KEPT:
                self._decisions.clear()
            found = self._decisions[key] = self._look_up(op, device, dtype, m, n, k)
        return found

    def _look_up(self, op: str, device: Device, dtype: str, m: int, n: int, k: int) -> Decision:
        table = self.table(op)
        if table is None:
            return Decision(None, (f"no table of {op}", _FALLBACK))
        info = device.info
        choice = table.find(info.target, info.compute_units, M=m, N=n, K=k, dtype=dtype)
        if choice is None:
            return Decision(None, (f"no row in {', '.join(p.name for p in table.files)}", _FALLBACK))
        row = choice.row
        step = f"{choice.step}: {row.kernel}, {row.microseconds:.1f} µs ({row.path.name}, line {row.line})"
        if row.kernel == DEFAULT:
            return Decision(None, (step,))
        instance = families.instances_by_name().get(row.kernel)
        if instance is None or (instance.op, instance.dtype) != (op, dtype):
            return Decision(None, (step, f"{row.kernel} is no instance of {op} for {dtype}", _FALLBACK))
        for kernel in instance.unshipped:
            if instance_files.find(kernel, info.arch) is None:
                remedy = "run `rocmkern build`, which makes the instances of tuned tables"
                return Decision(None, (step, f"{kernel.symbol} is not built for {info.target}; {remedy}", _FALLBACK))
        return Decision(instance, (step,))


tables: Tables | None = None  # None where nothing is tuned: operations ask for that first


def configure() -> None:
    """Reads the environment again, and forgets what was found before."""
    named = [Path(text) for text in os.environ.get(VARIABLE, "").split(os.pathsep) if text]
    folder = config_folder() / "tuned"
    paths = _by_operation(_files(named)) if named else _by_operation(_files([folder])) if folder.is_dir() else {}
    _use(Tables(paths) if paths else None)


def _use(found: Tables | None) -> None:
    """What operations ask from now on; those that were planned asked others."""
    global tables
    tables = found
    forget_plans()


def use_tuned(*paths: str | Path) -> None:
    """Uses the tuned tables of these files and folders in place of the environment's; without any, none.

    A table is `<operation>.csv` or `<operation>.<anything>.csv`; of several rows for one problem the fastest counts.
    Raises FileNotFoundError, ConfigError for a file that is named after no operation with instances.
    """
    found = _by_operation(_files(map(Path, paths)))
    _use(Tables(found) if found else None)


def explain_tuned(op: str, m: int, n: int, k: int, dtype: str | DType, *, device: DeviceLike = None) -> str:
    """Which instance `op` uses for a problem on a device, and why: a line for each step of the search.

    What M, N and K are of each operation is said in the documentation of `rocmkern tune`. Raises KernelNotFound for an
    operation or dtype without instances.
    """
    if isinstance(dtype, DType):
        dtype = dtype.short
    if not isinstance(op, str) or not isinstance(dtype, str):
        raise ArgumentError(f"explain_tuned: op {op!r} and dtype {dtype!r}; give an operation's name and a dtype")
    families.instances(op, dtype)
    sizes = [normal_integer(size, "explain_tuned", what) for size, what in ((m, "m"), (n, "n"), (k, "k"))]
    decision = (tables or Tables({})).decide(op, open_device(device), dtype, *sizes)
    return "\n".join(decision.steps)


def chosen(op: str, device: Device, dtype: str, m: int, n: int, k: int) -> Instance | None:
    """The instance for a problem, None for the default. Operations call it where there are `tables`."""
    return None if tables is None else tables.decide(op, device, dtype, m, n, k).instance


@contextmanager
def forced(instance: Instance) -> Iterator[None]:
    """Within, every launch of the instance's operation uses it."""
    before = tables
    _use(Tables({}, instance))
    try:
        yield
    finally:
        _use(before)


def named_instances(paths: Iterable[str | Path] = ()) -> dict[str, list[Instance]]:
    """The instances that tuned tables name, by the target of their rows; of `paths`, else of what is in use.

    Raises KernelNotFound (a LookupError) that lists every row whose kernel there is not.
    """
    found = Tables(_by_operation(_files(map(Path, paths)))) if paths else tables or Tables({})
    wanted: dict[str, list[Instance]] = {}
    unknown = []
    for op in found.paths:
        table = found.table(op)
        for row in table.rows() if table is not None else ():
            if row.kernel == DEFAULT:
                continue
            instance = families.instances_by_name().get(row.kernel)
            if instance is None:
                unknown.append(_where(row))
            elif instance not in wanted.setdefault(row.target, []):
                wanted[row.target].append(instance)
    if unknown:
        raise KernelNotFound(f"tuned tables: no such kernels: {'; '.join(unknown)}; tune these problems again")
    return {targets.strip_features(target): rows for target, rows in wanted.items()}


def _where(row: TunedRow) -> str:
    return f"{row.kernel} ({row.path.name}, line {row.line})"


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(path.glob("*.csv"))
        elif path.exists():
            yield path
        else:
            raise FileNotFoundError(f"tuned tables: no file or folder {path}; check {VARIABLE}")


def _by_operation(files: Iterable[Path]) -> dict[str, tuple[Path, ...]]:
    found: dict[str, tuple[Path, ...]] = {}
    for path in files:
        op = path.name.split(".")[0]
        if op not in families.tunables():
            raise ConfigError(
                f"tuned tables: {path.name} is named after no operation with instances; "
                f"there are {', '.join(families.tunables())}"
            )
        found[op] = (*found.get(op, ()), path)
    return found


configure()
