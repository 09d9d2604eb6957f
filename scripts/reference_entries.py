"""What the rendered pages of the reference share: signatures, sources, methods and examples."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PLAIN = {  # members whose body is a name, so that a docstring there would say it twice
    "address": "The address of its first byte on the device.",
    "bits": "The bits of one element.",
    "create_event": "A new event of the device.",
    "create_stream": "A new stream of the device.",
    "driver": "The driver of its device.",
    "handle": "The driver's own name of it.",
    "info": "Names and limits of the device: target, wave size, compute units, LDS, memory.",
    "is_closed": "Whether it was closed.",
    "is_complex": "Whether elements are complex numbers.",
    "is_float": "Whether elements are real floating-point numbers.",
    "is_integer": "Whether elements are integers, signed or not.",
    "itemsize": "The bytes of one element.",
    "name": "The kernel's name in its code object.",
    "nbytes": "The bytes of all elements.",
    "ndim": "How many axes there are.",
    "shape": "The length of each axis.",
    "size": "How many there are.",
    "strides": "The step along each axis, in elements.",
}


def signature(thing: Any) -> str:
    """The parameters as one would write them, without quotes about types and without what comes back."""
    try:
        shown = str(inspect.signature(thing))
    except (TypeError, ValueError):
        return ""
    shown = re.sub(r"<class '([^']+)'>", r"\1", shown).replace("rocmkern.", "")
    return re.sub(r'"?(?<![=(])\'"?', "", shown.partition(" -> ")[0]).replace("'", "")


def source(thing: Any) -> str:
    """The file of the repository that defines a function or a class."""
    path = Path(inspect.getsourcefile(inspect.unwrap(thing)) or "")
    return f"`{path.relative_to(ROOT)}`" if path.is_relative_to(ROOT) else ""


def methods(kind: type, names: list[str]) -> list[str]:
    """A line for each method or property of a class, in the order of the names."""
    lines = []
    for name in names:
        member = inspect.getattr_static(kind, name)
        bare = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
        doc = inspect.getdoc(bare.fget if isinstance(bare, property) else bare) or PLAIN[name]
        shown = "" if isinstance(bare, property) else signature(bare)
        shown = re.sub(r"\((self|x: Tensor)(, /)?(, |(?=\)))", "(", shown)
        text = doc.replace("\n\n", " ").replace("\n", " ")
        lines.append(f"- `{name}{shown}`: {text}")
    return lines


def public_members(kind: type) -> list[str]:
    """The functions and properties that a class itself defines."""
    own = vars(kind).items()
    kinds = (property, staticmethod, classmethod)
    return [n for n, f in own if n[0] != "_" and (inspect.isfunction(f) or isinstance(f, kinds))]


def sections(path: Path) -> Iterator[tuple[str, str]]:
    """Names and texts of a file whose sections begin with `## name`."""
    for section in re.split(r"^## ", path.read_text("utf-8"), flags=re.M)[1:]:
        name, _, text = section.partition("\n")
        yield name, text.rstrip()
