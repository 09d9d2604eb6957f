"""Where the package keeps kernel sources and code objects: inside it when installed, beside it in a checkout."""

from __future__ import annotations

from pathlib import Path

import rocmkern

_PACKAGE = Path(rocmkern.__file__).resolve().parent


def _folder(name: str) -> Path:
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name


def sources() -> Path:
    """The folder of `.hip` files."""
    return _folder("kernels_hip")


def code_objects() -> Path:
    """The folder that holds `<target>/<family>.hsaco` and `MANIFEST.json`."""
    return _folder("hsaco")
