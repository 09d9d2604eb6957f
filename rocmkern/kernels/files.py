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
    """The folder that holds `<family>.hsaco` and, where PTX was built, `<target>/<family>.ptx`."""
    return _folder("hsaco")


def is_checkout() -> bool:
    """Whether the sources can have changed since the code objects were built: those of a wheel came with them."""
    return not (_PACKAGE / "kernels_hip").is_dir()
