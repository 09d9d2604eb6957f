"""`rocmkern extract FILE`: the code objects of a bundle as plain files."""

from __future__ import annotations

from pathlib import Path

import click

from rocmkern.cli.code_file import CodeFile, parts
from rocmkern.cli.output import console, json_option, print_json, size


@click.command()
@click.argument("path", metavar="FILE|FAMILY", type=CodeFile())
@click.option("--target", help="Only the part for this device; all if absent.")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default=Path(), help="Folder for the plain files."
)
@json_option
def extract(path: Path, target: str | None, out: Path, as_json: bool) -> None:
    """Write the code objects of an offload bundle, or of a family of the package, to <target>/<name>.

    \b
    Examples:
      rocmkern extract matmul --out plain
      rocmkern extract kernels.hipfb --target gfx942
    """
    written = []
    for part in parts(path.read_bytes(), target):
        output = out / part.target / path.name
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_bytes(part.image)
        written.append({"file": str(output), "target": part.target, "bytes": len(part.image)})
        if not as_json:
            console().print(f"{output}  {size(len(part.image))}", highlight=False)
    if as_json:
        print_json(written)
