"""`rocmkern kernels`: what the package holds."""

from __future__ import annotations

import click

from rocmkern.cli.output import console, json_option, print_json, size, table
from rocmkern.kernels import families, files, shipped
from rocmkern.kernels.catalogue import Family, KernelSpec, Parameter
from rocmkern.kernels.tunable import Tunable, setting_name


def _sizes(family: str) -> dict[str, int]:
    """The code objects of a family by target, in bytes."""
    return {target: piece.entry.size for target, piece in shipped.pieces(family).items()}


def _parameter(parameter: Parameter) -> str:
    return f"{parameter.name}: {parameter.dtype.short}" + ("*" if parameter.is_pointer else "")


def _signature(kernel: KernelSpec) -> str:
    return ", ".join(map(_parameter, kernel.parameters))


def _describe(family: Family) -> dict[str, object]:
    return {
        "family": family.name,
        "sentence": family.sentence,
        "targets": _sizes(family.name),
        "kernels": {kernel.symbol: _signature(kernel) for kernel in family.kernels},
    }


@click.command()
@click.argument("names", metavar="[FAMILY]...", nargs=-1)
@click.option("--instances", is_flag=True, help="The settings of tunable kernels instead.")
@json_option
def kernels(names: tuple[str, ...], instances: bool, as_json: bool) -> None:
    """List the kernel families, or the kernels of each FAMILY with their arguments."""
    chosen = tuple(map(families.family, names)) if names else families.families()
    if instances:
        _list_instances({family.name for family in chosen}, as_json)
        return
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


def _list_instances(chosen: set[str], as_json: bool) -> None:
    """The settings in the order of kernelId, the default first."""
    rows = [row for row in families.tunables().values() if row.family in chosen]
    if as_json:
        print_json({row.op: _describe_settings(row) for row in rows})
        return
    alike: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for row in rows:
        found = families.instances(row.op, row.dtypes[0])
        names = (setting_name(v) + "*" * bool(i.unshipped) for v, i in zip(row.settings, found, strict=True))
        alike.setdefault((row.parameters, tuple(names)), []).append(row.op)
    cells = [(" ".join(ops), " × ".join(parameters), " ".join(names)) for (parameters, names), ops in alike.items()]
    out = console()
    out.print(table("", ("operations", "parameters", "settings, the default first"), cells))
    out.print("\n* does not ship: `rocmkern build` makes what tuned tables name", highlight=False)


def _describe_settings(row: Tunable) -> dict[str, object]:
    found = families.instances(row.op, row.dtypes[0])
    settings = [{**i.values, "kernelId": i.number, "ships": not i.unshipped} for i in found]
    return {"family": row.family, "dtypes": row.dtypes, "settings": settings}


def _row(family: Family) -> tuple[str, int, str, str, str]:
    held = _sizes(family.name)
    built = ", ".join(held) or "nothing; run `rocmkern build`"
    return family.name, len(family.kernels), family.sentence, built, size(sum(held.values()))
