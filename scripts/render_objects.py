"""Render docs/objects.md: every public class, dtype and constant, and the functions that docs/functions.md lacks."""

from __future__ import annotations

import inspect
from operator import attrgetter
from pathlib import Path

import reference_entries as entries

import rocmkern as rk
from rocmkern.dtypes import ALL

TARGET = entries.ROOT / "docs" / "objects.md"
EXAMPLES = dict(entries.sections(Path(__file__).with_name("object_examples.txt")))
CHAPTERS = {
    "Devices, memory, streams": (
        "Device", "devices", "default_device", "is_hip_available", "DeviceMemory", "PinnedMemory", "Stream", "Event",
    ),
    "Kernels": (
        "compile", "Module", "Function", "Dim3", "get_kernel", "KernelCache", "ElementwiseKernel", "ReductionKernel",
        "KernelLibrary",
    ),
    "Graphs, traces, checks, profiles": ("Graph", "Trace", "KernelTime", "check", "save_reproducer", "profile"),
    "Tensors and dtypes": (
        "Tensor", "DType", "dtype", "set_default_dtype", "numpy_fallback", "HostFallback", "mgrid", "ogrid",
    ),
    "Quantised tensors": ("quantize", "QTensor", "from_blocks", "load_gguf", "GgufFile", "GgufTensor"),
}  # fmt: skip
LAST = "Packages of kernels"  # and what has no chapter of its own
DISTRIBUTED = "Processes that work together"
CONSTANTS = ("e", "inf", "nan", "newaxis", "pi", "__array_api_version__")
HEAD = """\
# Classes and objects

Rendered by `python scripts/render_objects.py`: what `rocmkern` has beside [the functions of tensors](functions.md).
[Errors](errors.md) have a page of their own. The examples run in order, in one session that begins with

```python
import numpy as np

import rocmkern as rk
```
"""


def public_names() -> list[str]:
    """What must have a heading here: all that is public and no function of tensors."""
    return [
        name
        for name in rk.__all__
        if not (rk._HOME[name].startswith("rocmkern.ops.") and inspect.isfunction(getattr(rk, name)))
        and not isinstance(getattr(rk, name), rk.DType)
        and name not in CONSTANTS
    ]


def chapters() -> dict[str, tuple[str, ...]]:
    placed = {name for names in CHAPTERS.values() for name in names}
    rest = tuple(name for name in public_names() if name not in placed)
    order = list(EXAMPLES)
    distributed = tuple(sorted((f"distributed.{name}" for name in rk.distributed.__all__), key=order.index))
    return {**CHAPTERS, LAST: rest, DISTRIBUTED: distributed}


def entry(name: str) -> str:
    thing = attrgetter(name)(rk)
    is_object = not (inspect.isfunction(thing) or inspect.isclass(thing))
    parts = [f"### {name}\n"]
    if not is_object:
        parts.append(f"`{name}{entries.signature(thing)}`\n")
    parts.append(f"{inspect.getdoc(thing) or ''}\n")
    if inspect.isclass(thing):
        members = entries.public_members(thing)
        if thing is rk.Tensor:
            members = [m for m in members if isinstance(vars(thing)[m], property)]
            parts.append("Methods are listed with [the functions](functions.md#methods-of-a-tensor). Properties:\n")
        listed = entries.methods(thing, members)
        parts += ["\n".join(listed) + "\n"] if listed else []
    parts.append(f"```python\n{EXAMPLES[name]}\n```\n")
    parts.append(f"Source: {entries.source(type(thing) if is_object else thing)}\n")
    return "\n".join(parts)


def dtypes() -> str:
    rows = "\n".join(f"| `{d.name}` | `{d.short}` | {d.kind} | {d.itemsize} |" for d in ALL)
    return f"### Dtypes\n\n| name | in kernels | kind | bytes |\n|---|---|---|---|\n{rows}\n\n`bool` is `bool_`.\n"


def constants() -> str:
    rows = "\n".join(f"| `{name}` | `{getattr(rk, name)!r}` |" for name in CONSTANTS)
    return f"### Constants\n\n| name | value |\n|---|---|\n{rows}\n"


def render() -> str:
    parts = [HEAD]
    for title, names in chapters().items():
        parts.append(f"## {title}\n")
        parts += [entry(name) for name in names]
        if "DType" in names:
            parts += [dtypes(), constants()]
    return "\n".join(parts)


if __name__ == "__main__":
    TARGET.write_text(render(), "utf-8")
