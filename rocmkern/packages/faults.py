"""What keeps a file or a row of a package from being used: check() reports it, and selection passes the row over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rocmkern.codeobject import CodeObject
from rocmkern.errors import PackageError
from rocmkern.packages.kind import Kind
from rocmkern.packages.kinds import KINDS
from rocmkern.packages.package import Fault, KernelPackage, PackagedTable
from rocmkern.packages.tables import KernelRow
from rocmkern.targets import TARGETS, strip_features


def of_code(code: CodeObject, arch: str) -> Iterator[Fault]:
    """What keeps a code object from running on `arch`, whose folder it lies in."""
    if strip_features(code.target) != arch:
        yield Fault("arch of folder", f"the ELF is for {code.target}")
    if code.undefined_symbols:
        yield Fault("undefined symbols", ", ".join(code.undefined_symbols))
    row = TARGETS.get(arch)
    for kernel in code.kernels.values():
        if row is not None and kernel.lds_size > row.lds_bytes:
            yield Fault("LDS", f"{kernel.lds_size} bytes, {arch} has {row.lds_bytes}")


def of_row(package: KernelPackage, table: PackagedTable, row: KernelRow, kind: Kind | None = None) -> Fault | None:
    """The first thing that keeps a row's kernel from being launched as one of `kind`, else of the folder's kind."""
    path, kind = table.file(row), kind or KINDS.get(table.kind)
    missing, wrong = package.absence(path), kind.untiled(row) if kind is not None else None
    if missing is not None:
        return Fault("file present", f"{row.file} {missing}")
    if wrong is not None:
        return Fault("tiles", wrong)
    key = kind, path, row.symbol
    if key not in package.kernel_faults:
        package.kernel_faults[key] = _of_kernel(package, table, row, path, kind)
    return package.kernel_faults[key]


def _of_kernel(
    package: KernelPackage, table: PackagedTable, row: KernelRow, path: Path, kind: Kind | None
) -> Fault | None:
    try:
        code = package.code(path)
    except PackageError as error:
        return Fault("readable", str(error))
    kernel = code.kernels.get(row.symbol)
    if kernel is None:
        return Fault("symbol in file", f"{row.file} has {', '.join(code.kernels)}, not {row.symbol}")
    for fault in of_code(code, table.arch):
        return fault
    if kind is None:
        return None
    if kind.arguments_of(kernel) is None:
        wrong = "; ".join(f"{args.__name__} {args.nbytes()} ({args.mismatch(kernel)})" for args in kind.arguments)
        return Fault("host arguments", f"kernarg_segment_size is {kernel.kernarg_size}, known layouts: {wrong}")
    if kind.multiplies is not None:
        try:
            package.tile(path, row.symbol, kind.multiplies)
        except PackageError as error:
            return Fault("order of weights", str(error))
    return None
