"""`python -m tests.fuzz KIND`: run many cases of a kind, or one of them again."""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # workers are forked, which threads of NumPy would not survive

import faulthandler
import sys
from pathlib import Path

import click

from rocmkern.errors import RocmkernError
from tests.fuzz.campaign import Campaign, to_stderr, write
from tests.fuzz.kind import Kind
from tests.fuzz.kinds import KINDS


@click.command()
@click.argument("kind", type=click.Choice(list(KINDS)))
@click.option("--target", default="gfx942", show_default=True, help="Device of the emulator; also with `:checked`.")
@click.option("--seed", "seeds", type=int, multiple=True, help="Run this case alone, in this process; repeatable.")
@click.option("--cases", type=int, default=1000, show_default=True)
@click.option("--start", type=int, default=0, show_default=True, help="The first seed.")
@click.option("--jobs", type=int, default=1, show_default=True, help="Worker processes.")
@click.option("--out", type=click.Path(path_type=Path), help="Write outcomes and findings there, as JSON.")
@click.option("--save", type=click.Path(path_type=Path), help="With one --seed: write the input there instead.")
def main(
    kind: str,
    target: str,
    seeds: tuple[int, ...],
    cases: int,
    start: int,
    jobs: int,
    out: Path | None,
    save: Path | None,
) -> None:
    """Feed the library damaged files and kernels, and say what it made of them.

    Deaths and hangs of worker processes, exceptions that are not the library's own, memory that was written or not
    given back are findings; with any, the exit status is 1.
    """
    chosen = KINDS[kind](target)
    if not seeds:
        result = Campaign(chosen, start, cases, jobs, to_stderr).run()
        click.echo(result.summary())
        if out is not None:
            write([result], out)
        sys.exit(bool(result.findings))
    if save is not None:
        save.write_bytes(chosen.make(seeds[0]))
        return
    faulthandler.enable()
    chosen.prepare()
    for seed in seeds:
        click.echo(f"{seed}: {outcome(chosen, seed)}")
        damage = chosen.damage()
        if damage is not None:
            raise click.ClickException(damage)


def outcome(kind: Kind, seed: int) -> str:
    """What becomes of one case, an error of the library being as good as any other end."""
    try:
        return kind.run(kind.make(seed), seed)
    except RocmkernError as error:
        return f"{type(error).__name__}: {error}"


main(prog_name="python -m tests.fuzz")
