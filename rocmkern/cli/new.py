"""`rocmkern new NAME`: a package of one's own kernels to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

import rocmkern
from rocmkern.cli.output import json_option, print_json

_TEMPLATE: Final = Path(rocmkern.__file__).resolve().parent / "new_package"
_NAME: Final = "my_kernels"
_HIDDEN: Final = {"gitignore": ".gitignore", "workflow.yml": ".github/workflows/test.yml"}


@click.command()
@click.argument("name")
@click.option("--in", "parent", default=".", type=click.Path(exists=True, file_okay=False, path_type=Path))
@json_option
def new(name: str, parent: Path, as_json: bool) -> None:
    """Make a folder NAME with a package of kernels: a kernel, its loader and test, and what makes a wheel of them."""
    if not name.isidentifier() or not name.islower():
        raise click.UsageError(f"NAME {name!r}: no name for a package; use small letters, digits and _")
    folder = parent / name
    if folder.exists():
        raise click.UsageError(f"{folder} is there already; choose another name, or remove it")
    made = []
    for source in sorted(path for path in _TEMPLATE.rglob("*") if path.is_file() and path.suffix != ".pyc"):
        place = source.relative_to(_TEMPLATE).as_posix()
        written = folder / named(_HIDDEN.get(place, place), name)
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_text(named(source.read_text(), name))
        made.append(str(written))
    if as_json:
        print_json(made)
    else:
        click.echo("\n".join(made))


def named(text: str, name: str) -> str:
    """The template's text for a package of that name."""
    return text.replace(_NAME, name).replace(_NAME.replace("_", "-"), name.replace("_", "-"))
