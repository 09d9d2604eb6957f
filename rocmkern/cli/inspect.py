"""`rocmkern inspect FILE`: what a code object holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import click
from rich.console import Console

from rocmkern import targets
from rocmkern.cli.code_file import CodeFile, parts
from rocmkern.cli.output import console, json_option, print_json, size, table
from rocmkern.codeobject import Argument, CodeObject, Kernel, metadata
from rocmkern.emulator.isa import decode
from rocmkern.emulator.isa.text import instruction_text
from rocmkern.errors import KernelNotFound, UnsupportedInstruction


@click.command()
@click.argument("path", metavar="FILE|FAMILY", type=CodeFile())
@click.option("--target", help="Of a bundle, the part for this device.")
@click.option("--kernel", "name", help="Only this kernel, with its arguments.")
@click.option("--asm", is_flag=True, help="Print the kernels' instructions instead.")
@json_option
def inspect(path: Path, target: str | None, name: str | None, asm: bool, as_json: bool) -> None:
    """Show the kernels of a code object, offload bundle or family: arguments, registers, LDS, limits."""
    if asm and as_json:
        raise click.UsageError("--asm prints text; leave out --json")
    found = parts(path.read_bytes(), target)
    if name is not None and not any(name in part.kernels for part in found):
        held = ", ".join(sorted({kernel for part in found for kernel in part.kernels})) or "none"
        raise KernelNotFound(f"inspect: no kernel {name!r} in {path.name}; it has {held}")
    if asm:
        for part in found:
            _print_assembly(part, name)
        return
    if as_json:
        print_json([_as_dict(part, name) for part in found])
        return
    out = console()
    for part in found:
        _show(out, path, part, name)


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


def _print_assembly(code: CodeObject, name: str | None) -> None:
    isa = targets.isa(code.target)
    for kernel in _chosen(code, name):
        click.echo(f"{kernel.name}:")
        for line in _assembly(isa, code, kernel):
            click.echo(line)


def _assembly(isa: str, code: CodeObject, kernel: Kernel) -> Iterator[str]:
    """One line per instruction, with its place in the kernel; words that are no instruction as `.long`."""
    text = _text(code, kernel)
    pc = 0
    while pc + 4 <= len(text):
        try:
            inst = decode(isa, text, pc)
            line, step = instruction_text(isa, inst), inst.size
            if inst.encoding == "SOPP" and inst.name.startswith(("s_branch", "s_cbranch")):
                line += f"  ; to {inst.target:#x}"
        except UnsupportedInstruction:
            line, step = f".long {int.from_bytes(text[pc : pc + 4], 'little'):#010x}", 4
        yield f"  {pc:#06x}  {line}"
        pc += step


def _text(code: CodeObject, kernel: Kernel) -> bytes:
    """The kernel's code; where its symbol has no size, as in hand-written files, all up to the segment's end."""
    start, size = kernel.entry_address, code.symbols.get(kernel.name, (0, 0))[1]
    if not size:
        ends = [s.address + len(s.data) for s in code.segments if s.address <= start < s.address + len(s.data)]
        size = max(ends, default=start) - start
    return metadata.image_bytes(code.segments, start, size)


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
