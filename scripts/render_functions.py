"""Render docs/functions.md: every function of the tensor namespace, from its signature and docstring."""

from __future__ import annotations

import inspect
import os
import tempfile
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import reference_entries as entries

import rocmkern as rk
from rocmkern import methods as tensor_methods
from rocmkern.ops.elementwise import ROWS

TARGET = entries.ROOT / "docs" / "functions.md"
EXAMPLES = Path(__file__).with_name("function_examples.txt")
OPERANDS = """\
x = rk.asarray([-1.5, 0.25, 2.0])
u = rk.asarray([0.25, 0.5, 1.0])
n = rk.asarray([5, 3, 12])
m = rk.asarray([[1.0, 2.0], [3.0, 4.0]])
t = rk.asarray([True, False, True])
z = rk.asarray([1 + 2j, 3j])
g = rk.asarray([1.0, rk.nan, 3.0])
"""
CHAPTERS = {
    "creation": "Creation",
    "manipulation": "Shapes",
    "rows_unary": "Elementwise, one operand",
    "rows_binary": "Elementwise, two operands",
    "rounding": "Elementwise, rounding",
    "composed": "Elementwise, composed",
    "reduction": "Reductions and statistics",
    "indexing": "Indexing and searching",
    "items": "Subscripts",
    "scatter": "Writing by index",
    "sorting": "Sorting",
    "sets": "Sets",
    "linear": "Products",
    "einsum": "Sums of products",
    "reductions": "Reductions with all that NumPy takes",
    "familiar": "As in NumPy, beyond the standard",
    "arranged": "Rows, diagonals, windows",
    "statistics": "Statistics",
    "series": "Along one axis",
    "quantiles": "Quantiles",
    "passing_nan": "What is no NaN",
    "elementary": "Elementwise, in NumPy's names",
    "numpy_names": "NumPy's names of what the standard has",
    "stacking": "Joining, cutting, turning",
    "choosing": "Choosing and ordering",
    "grids": "Spaced numbers and grids",
    "numpy_sets": "Sets in which all NaN are one",
    "polynomials": "Polynomials",
    "windows": "Windows",
    "files": "NumPy's files",
    "nn": "Neural networks",
    "conv": "Convolutions, pools, resampling",
    "datatypes": "Dtypes and inspection",
    "memory": "Memory",
    "tuned": "Kernels chosen by measurement",
    "specialized": "Kernels for one shape",
}
EXTENSIONS = {"linalg": "Linear algebra", "fft": "Fourier transforms"}
TAKES = {
    "float": "Floats; other dtypes become the default one.",
    "numeric": "Numbers.",
    "rounding": "Numbers; integers are their own result.",
    "test": "Any dtype; gives bool.",
    "bits": "Bool and integers.",
    "integer": "Integers.",
    "logical": "The truth of any dtype; gives bool.",
    "any": "Any dtype; gives bool.",
}
HEAD = f"""\
# Tensor functions

Rendered by `python scripts/render_functions.py` from the docstrings. Operands broadcast and promote as
[the array API page](array_api.md) says; values are those of [What an operation means](semantics.md). A wrong shape or
axis is a `ValueError`, a wrong dtype a `TypeError`, an index outside its axis an `IndexError`.

In signatures `Operand` is a tensor or a number, Python's or NumPy's; `Scalar` a Python number; `Axes` one axis,
several, or None for all; `Shares` a number, several, or an array of them; `ShapeLike` a length or several;
`DeviceLike` a `Device`, its name, or None for the default.

Examples are evaluated as this page is made, on the emulator, and shown to four digits and without the device. They
begin with

```python
import numpy as np

import rocmkern as rk

{OPERANDS.rstrip()}
```
"""


@cache
def examples() -> dict[str, str]:
    """Each function's example, as a session of Python shows it with its result."""
    device = "emulator:gfx942"
    names: dict[str, Any] = {"rk": rk, "np": np}
    shown, folder = {}, Path.cwd()
    before = os.environ.get("ROCMKERN_DEVICE")
    os.environ["ROCMKERN_DEVICE"] = device
    try:
        with np.printoptions(precision=4, suppress=True), tempfile.TemporaryDirectory() as scratch:
            os.chdir(scratch)
            exec(OPERANDS, names)
            for line in EXAMPLES.read_text("utf-8").splitlines()[1:]:
                name, _, expression = line.partition(": ")
                result = eval(expression, names)
                text = "" if result is None else f"\n{result!r}".replace(f", device={device}", "")
                shown[name] = f"```pycon\n>>> {expression}{text}\n```"
    finally:
        os.chdir(folder)
        if before is None:
            del os.environ["ROCMKERN_DEVICE"]
        else:
            os.environ["ROCMKERN_DEVICE"] = before
    return shown


def entry(name: str) -> str:
    function = attrgetter(name)(rk)
    doc = inspect.getdoc(function) or ""
    takes = f" {TAKES[ROWS[name].accepts]}" if name in ROWS else ""
    takes += " Complex numbers too." if name in ROWS and ROWS[name].of_complex else ""
    source = f"Source: {entries.source(function)}"
    return f"### {name}\n\n`{name}{entries.signature(function)}`\n\n{doc}{takes}\n\n{examples()[name]}\n\n{source}\n"


def own_functions(extension: str) -> list[str]:
    """The functions of an extension's namespace that the main one has not."""
    namespace = getattr(rk, extension)
    return [n for n in namespace.__all__ if inspect.isfunction(getattr(namespace, n)) and n not in rk.__all__]


def of_tensor() -> list[str]:
    """What a tensor has beside operators and the standard's attributes."""
    names = [n for n, f in vars(tensor_methods).items() if inspect.isfunction(f) and n in vars(rk.Tensor)]
    return entries.methods(rk.Tensor, names)


def of_generator() -> list[str]:
    generator = rk.random.Generator
    return entries.methods(generator, [n for n, f in vars(generator).items() if inspect.isfunction(f) and n[0] != "_"])


def render() -> str:
    parts = [HEAD]
    for module, title in CHAPTERS.items():
        names = [n for n in rk.__all__ if rk._HOME[n] == f"rocmkern.ops.{module}"]
        parts.append(f"## {title}\n")
        parts += [entry(n) for n in names if inspect.isfunction(getattr(rk, n))]
    for extension, title in EXTENSIONS.items():
        parts.append(f"## {title}\n")
        parts += [entry(f"{extension}.{n}") for n in own_functions(extension)]
    parts += ["## Random numbers\n", entry("random.default_rng"), entry("random.Generator"), *of_generator(), ""]
    return "\n".join([*parts, "## Methods of a tensor\n", *of_tensor(), ""])


if __name__ == "__main__":
    TARGET.write_text(render(), "utf-8")
