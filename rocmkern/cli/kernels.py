"""`rocmkern kernels`: what the package holds."""

from __future__ import annotations

from pathlib import Path

import click

from rocmkern.cli.output import console, json_option, print_json, size, table
from rocmkern.kernels import families, files
from rocmkern.kernels.catalogue import Family, KernelSpec, Parameter


def _files(family: str) -> dict[str, Path]:
    """The code objects of a family by target."""
    return {path.parent.name: path for path in sorted(files.code_objects().glob(f"*/{family}.hsaco"))}


def _parameter(parameter: Parameter) -> str:
    return f"{parameter.name}: {parameter.dtype.short}" + ("*" if parameter.is_pointer else "")


def _signature(kernel: KernelSpec) -> str:
    return ", ".join(map(_parameter, kernel.parameters))


def _describe(family: Family) -> dict[str, object]:
    return {
        "family": family.name,
        "sentence": family.sentence,
        "targets": {target: path.stat().st_size for target, path in _files(family.name).items()},
        "kernels": {kernel.symbol: _signature(kernel) for kernel in family.kernels},
    }


@click.command()
@click.argument("names", metavar="[FAMILY]...", nargs=-1)
@json_option
def kernels(names: tuple[str, ...], as_json: bool) -> None:
    """List the kernel families, or the kernels of each FAMILY with their arguments."""
    chosen = tuple(map(families.family, names)) if names else families.families()
    if as_json:
        print_json([_describe(family) for family in chosen])
        return
    out = console()
    if names:
        for family in chosen:
            rows = [(kernel.symbol, _signature(kernel)) for kernel in family.kernels]
            out.print(table(f"{family.name}: {family.sentence}", ("kernel", "arguments"), rows))
        return
    out.print(table("", ("family", "kernels", "is", "built for", "size"), map(_row, chosen)))
    out.print(f"\n{sum(len(family.kernels) for family in chosen):,} kernels in {files.code_objects()}", highlight=False)


def _row(family: Family) -> tuple[str, int, str, str, str]:
    held = _files(family.name)
    built = ", ".join(held) or "nothing; run `rocmkern build`"
    total = sum(path.stat().st_size for path in held.values())
    return family.name, len(family.kernels), family.sentence, built, size(total)
