"""Files of code objects as commands take them: by path, or by the name of a family of the package."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from rocmkern import codeobject
from rocmkern.codeobject import CodeObject
from rocmkern.codeobject.bundle import is_bundle
from rocmkern.kernels import families, shipped


class CodeFile(click.Path):
    """A file that is there, or a family whose bundle it stands for."""

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        if value in families.names() and not Path(value).is_file():
            value = shipped.path(value)
        near = get_close_matches(str(value), families.names())
        if near and not Path(value).exists():
            self.fail(f"{str(value)!r} does not exist; of families there are {', '.join(near)}", param, ctx)
        path: Path = super().convert(value, param, ctx)  # type: ignore[assignment]  # as path_type says
        return path


def parts(data: bytes, target: str | None) -> list[CodeObject]:
    """All code objects of a file, or the one that serves a device of `target` best."""
    if target is None and is_bundle(data):
        return [codeobject.read(entry.data) for entry in codeobject.read_bundle(data) if entry.target and entry.size]
    return [codeobject.read(data, target)]
