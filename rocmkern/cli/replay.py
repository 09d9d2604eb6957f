"""`rocmkern replay`: a launch that was saved to a file, run again, checked, traced or made small."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Console

from rocmkern.cli.output import OutputFile, console, json_option, print_json, table
from rocmkern.errors import ConfigError
from rocmkern.targets import strip_features

if TYPE_CHECKING:
    from rocmkern.checking.findings import Finding
    from rocmkern.checking.reproducer import Reproducer


@click.command()
@click.argument("path", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--device", help="Where to run it: `hip:0`, or the emulated one that it was saved on.")
@click.option("--check", "is_checked", is_flag=True, help="Tell what it does wrong, on an emulated device.")
@click.option("--shrink", "smaller", type=OutputFile(), metavar="FILE", help="Write the smallest one with its fault.")
@click.option("--trace", "traced", metavar="wg=N,wave=N[,lane=N]", help="Print what one wave does, or one lane.")
@json_option
@click.pass_context
def replay(
    context: click.Context,
    path: Path,
    device: str | None,
    is_checked: bool,
    smaller: Path | None,
    traced: str | None,
    as_json: bool,
) -> None:
    """Run a launch again that `rk.save_reproducer` or `rocmkern check --save` wrote to FILE.

    \b
    Example:
      rocmkern replay bug.rkz --check
      rocmkern replay bug.rkz --shrink small.rkz
      rocmkern replay small.rkz --trace wg=0,wave=1
    """
    from rocmkern.checking import report, reproducer
    from rocmkern.runtime import Device
    from rocmkern.runtime.replays import Replay, checked_errors
    from rocmkern.runtime.shrinking import shrink
    from rocmkern.runtime.traces import place, trace

    saved, out = reproducer.read(path), Console(quiet=True) if as_json else console()
    document: dict[str, Any] = {}
    errors: tuple[Finding, ...] = ()
    emulated = f"emulator:{strip_features(saved.target)}"
    if (is_checked or smaller or traced) and device is not None and not device.startswith("emulator"):
        raise ConfigError(f"replay: {device} neither checks nor traces; leave --device out for that")
    if smaller is not None:
        less = shrink(saved, Device(device or emulated, checked=True))
        less.write(smaller)
        out.print(f"{_size(saved)} → {_size(less)}", highlight=False)
        document["shrunk"] = {"before": _size(saved), "after": _size(less)}
        saved = less
    if traced is not None:
        document["trace"] = lines = list(trace(saved, place(traced), Device(device or emulated)))
        for line in lines:
            out.out(line, highlight=False)
    if is_checked:
        on = Device(device or emulated, checked=True)
        errors = checked_errors(Replay(on, saved.code), saved)
        for one in errors:
            out.print("\n".join(report.lines(one)), markup=False, highlight=False, soft_wrap=True)
        out.print(f"{len(errors) or 'no'} error{'s' * (len(errors) != 1)}", highlight=False)
        document["findings"] = [one.as_dict() for one in errors]
    elif smaller is None and traced is None:
        on = Device(device or emulated)
        results = Replay(on, saved.code).run(saved).results()
        rows = [(n, one.nbytes, one.changed, f"{one.checksum:08x}") for n, one in enumerate(results)]
        out.print(table(f"{saved.kernel} on {on.name}", _TITLES, rows))
        blocks = [dict(zip(_TITLES, row, strict=True)) for row in rows]
        document |= {"kernel": saved.kernel, "device": on.name, "blocks": blocks}
    if as_json:
        print_json(document)
    if errors:
        context.exit(1)


_TITLES: Final = ("block", "bytes", "changed", "CRC-32 after")


def _size(saved: Reproducer) -> str:
    nbytes = sum(block.nbytes for block in saved.blocks)
    return f"{saved.kernel}: grid {saved.grid}, block {saved.block}, {nbytes:,} bytes in {len(saved.blocks)} blocks"
