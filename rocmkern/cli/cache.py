"""`rocmkern cache`: where compiled code is kept, how much, and how to be rid of it."""

from __future__ import annotations

import shutil

import click

from rocmkern.cli.output import console, json_option, print_json, size, table
from rocmkern.disk_cache import FOLDERS, LIMIT_VARIABLE, limit_bytes
from rocmkern.paths import CACHE_VARIABLE, cache_folder


@click.command()
@click.option("--clear", is_flag=True, help="Remove all of it; what is needed again is made again.")
@json_option
def cache(clear: bool, as_json: bool) -> None:
    """Show the folders in which translated and compiled code is kept between processes."""
    root = cache_folder()
    folders = [root / name for name in FOLDERS if (root / name).is_dir() and not (root / name).is_symlink()]
    kept = {folder.name: [p.lstat().st_size for p in folder.rglob("*") if not p.is_dir()] for folder in folders}
    if clear:
        for folder in folders:
            shutil.rmtree(folder)
    if as_json:
        sizes = {name: {"files": len(sizes), "bytes": sum(sizes)} for name, sizes in kept.items()}
        print_json({"folder": str(root), "limit_bytes": limit_bytes(), "cleared": clear, "kept": sizes})
        return
    rows = [(name, len(sizes), size(sum(sizes))) for name, sizes in kept.items()]
    out = console()
    out.print(table(f"{root}{', cleared' if clear else ''}", ("folder", "files", "size"), rows))
    limits = f"each folder holds up to {size(limit_bytes())}: {LIMIT_VARIABLE} changes that, {CACHE_VARIABLE} the place"
    out.print(limits, highlight=False)
