"""`rocmkern inspect FILE`: what a code object holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import click
from rich.console import Console

from rocmkern import codeobject
from rocmkern.cli.output import console, json_option, print_json, size, table
from rocmkern.codeobject import Argument, CodeObject, Kernel
from rocmkern.codeobject.bundle import is_bundle
from rocmkern.errors import KernelNotFound


@click.command()
@click.argument("path", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--target", help="Of a bundle, the part for this device.")
@click.option("--kernel", "name", help="Only this kernel, with its arguments.")
@json_option
def inspect(path: Path, target: str | None, name: str | None, as_json: bool) -> None:
    """Show the kernels of a code object or offload bundle: arguments, registers, LDS, limits."""
    data = path.read_bytes()
    parts = _parts(data, target)
    if name is not None and not any(name in part.kernels for part in parts):
        held = ", ".join(sorted({kernel for part in parts for kernel in part.kernels})) or "none"
        raise KernelNotFound(f"inspect: no kernel {name!r} in {path.name}; it has {held}")
    if as_json:
        print_json([_as_dict(part, name) for part in parts])
        return
    out = console()
    for part in parts:
        _show(out, path, part, name)


def _parts(data: bytes, target: str | None) -> list[CodeObject]:
    if target is None and is_bundle(data):
        return [codeobject.read(entry.data) for entry in codeobject.read_bundle(data) if entry.target and entry.data]
    return [codeobject.read(data, target)]


def _chosen(code: CodeObject, name: str | None) -> list[Kernel]:
    return [kernel for kernel in code.kernels.values() if name in (None, kernel.name)]


def _show(out: Console, path: Path, code: CodeObject, name: str | None) -> None:
    version = f"code object v{code.version}" + (
        f", generic version {code.generic_version}" * bool(code.generic_version)
    )
    out.print(f"{path.name}: {code.target}, {version}, {size(len(code.image))}", highlight=False)
    if code.undefined_symbols:
        out.print(f"undefined: {', '.join(code.undefined_symbols)}", style="red", highlight=False)
    columns = ("kernel", "arguments", "kernarg", "LDS", "scratch", "wave", "SGPR", "VGPR", "AGPR", "spills", "block")
    out.print(table("", columns, map(_row, _chosen(code, name))))
    if name is not None:
        rows = [_argument(argument) for kernel in _chosen(code, name) for argument in kernel.arguments]
        out.print(table("", ("offset", "size", "kind", "name", "type", "space"), rows))


def _argument(argument: Argument) -> tuple[object, ...]:
    words = (argument.kind, argument.name, argument.type_name, argument.address_space)
    return (argument.offset, argument.size, *(word or "" for word in words))


def _row(kernel: Kernel) -> tuple[object, ...]:
    block = "×".join(map(str, kernel.required_block)) if kernel.required_block else f"≤ {kernel.max_threads_per_block}"
    hidden = len(kernel.arguments) - len(kernel.explicit_arguments)
    pads = len(kernel.explicit_arguments) - len(kernel.logical_arguments)
    counts = ((hidden, "hidden"), (pads, "pads"))
    arguments = f"{len(kernel.logical_arguments)}" + "".join(f" + {count} {what}" for count, what in counts if count)
    return (
        kernel.name, arguments, kernel.kernarg_size, kernel.lds_size, kernel.private_size, kernel.wave_size,
        kernel.sgprs, kernel.vgprs, kernel.agprs, kernel.sgpr_spills + kernel.vgpr_spills, block,
    )  # fmt: skip


def _as_dict(code: CodeObject, name: str | None) -> dict[str, Any]:
    return {
        "target": code.target,
        "version": code.version,
        "generic_version": code.generic_version,
        "bytes": len(code.image),
        "undefined_symbols": list(code.undefined_symbols),
        "kernels": [_kernel_as_dict(kernel) for kernel in _chosen(code, name)],
    }


def _kernel_as_dict(kernel: Kernel) -> dict[str, Any]:
    return {**attrs.asdict(kernel), "descriptor": kernel.descriptor.hex()}
