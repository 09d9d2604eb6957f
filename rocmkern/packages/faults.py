"""What keeps a file or a row of a package from being used: check() reports it, and selection passes the row over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rocmkern.codeobject import CodeObject
from rocmkern.errors import PackageError
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


def of_row(package: KernelPackage, table: PackagedTable, row: KernelRow) -> Fault | None:
    """The first thing that keeps a row's kernel from being launched."""
    path, kind = table.file(row), KINDS.get(table.kind)
    missing, wrong = package.absence(path), kind.untiled(row) if kind is not None else None
    if missing is not None:
        return Fault("file present", f"{row.file} {missing}")
    if wrong is not None:
        return Fault("tiles", wrong)
    key = table.kind, path, row.symbol
    if key not in package.kernel_faults:
        package.kernel_faults[key] = _of_kernel(package, table, row, path)
    return package.kernel_faults[key]


def _of_kernel(package: KernelPackage, table: PackagedTable, row: KernelRow, path: Path) -> Fault | None:
    try:
        code = package.code(path)
    except PackageError as error:
        return Fault("readable", str(error))
    kernel = code.kernels.get(row.symbol)
    if kernel is None:
        return Fault("symbol in file", f"{row.file} has {', '.join(code.kernels)}, not {row.symbol}")
    for fault in of_code(code, table.arch):
        return fault
    kind = KINDS.get(table.kind)
    if kind is not None and not any(args.fits(kernel) for args in kind.arguments):
        sizes = ", ".join(f"{args.__name__} {args.nbytes()}" for args in kind.arguments)
        return Fault("host arguments", f"kernarg_segment_size is {kernel.kernarg_size}, known layouts: {sizes}")
    return None
