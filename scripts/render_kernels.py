"""Writes docs/kernels.md from the catalogue: one table per family, kernels of one signature in one row."""

from __future__ import annotations

import re
from pathlib import Path

from rocmkern.dtypes import ALL
from rocmkern.kernels import families
from rocmkern.kernels.catalogue import Family, KernelSpec

PAGE = Path(__file__).resolve().parents[1] / "docs" / "kernels.md"
_DTYPES = "|".join(sorted((d.short for d in ALL), key=len, reverse=True))
_TAIL = re.compile(rf"_({_DTYPES})(?=_|$)")
HEAD = """# Kernels

Rendered by `scripts/render_kernels.py` from the catalogue, `rocmkern/kernels/families/`. Symbols and argument lists are
those of Candle's CUDA kernels where Candle has the kernel; `T` stands for the dtype in the symbol. `rocmkern kernels
FAMILY` prints every symbol with its arguments.

```python
import numpy as np
import rocmkern as rk

device = rk.Device()
badd = rk.get_kernel("binary", "badd_f32", device)
a, b, out = (device.alloc(4 * 100) for _ in range(3))
a.copy_from_host(np.arange(100, dtype=np.float32))
b.copy_from_host(np.ones(100, dtype=np.float32))
badd(100, 0, None, a, b, out, grid=1, block=128)
print(out.copy_to_host(np.empty(100, np.float32))[:4])
```

`info` is an array of 64-bit words on the device: the dims, then one set of strides per operand in elements, outermost
axis first; stride 0 broadcasts, and a null pointer means that every operand is contiguous.
"""


def stem(symbol: str) -> tuple[str, tuple[str, ...]]:
    """The symbol with its dtypes taken out, and those dtypes."""
    return _TAIL.sub("_T", symbol), tuple(_TAIL.findall(symbol))


def parameters(kernel: KernelSpec) -> str:
    named = []
    for p in kernel.parameters:
        star = "*" if p.is_pointer else ""
        named.append(f"{p.name}{star}" + ("?" if p.nullable else ""))
    return ", ".join(named)


def table(family: Family) -> str:
    rows: dict[tuple[str, str], list[tuple[str, ...]]] = {}
    for kernel in family.kernels:
        name, types = stem(kernel.symbol)
        rows.setdefault((name, parameters(kernel)), []).append(types)
    lines = [
        f"## {family.name}",
        "",
        f"{family.sentence[:1].upper()}{family.sentence[1:]}. {len(family.kernels):,} kernels.",
        "",
    ]
    lines += ["| kernel | arguments | dtypes |", "|---|---|---|"]
    for (name, arguments), forms in rows.items():
        distinct = [sorted({t[i] for t in forms}, key=_order) for i in range(len(forms[0]))]
        shown = " × ".join(" ".join(group) for group in distinct)
        lines.append(f"| `{name}` | `{arguments}` | {shown} |")
    return "\n".join(lines)


def _order(short: str) -> int:
    return [d.short for d in ALL].index(short)


def page() -> str:
    return "\n\n".join([HEAD.rstrip(), *map(table, families.families())]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
