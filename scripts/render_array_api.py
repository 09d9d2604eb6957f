"""Render docs/array_api.md: the functions of the array API standard, and what this namespace has of each."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType

import array_api_strict

import rocmkern as rk

TARGET = Path(__file__).parent.parent / "docs" / "array_api.md"
OWN_NAMES = ("Device", "__version__")  # of array-api-strict, not of the standard
EXTENSIONS = ("fft", "linalg")

HEAD = """\
# The array API standard

`rocmkern` is a namespace of the [Python array API standard](https://data-apis.org/array-api/2025.12/), version
{version}.
This page is rendered by `python scripts/render_array_api.py` from the namespace itself.

{have} of the standard's {all} names are there, and {have_more} of the {all_more} of its extensions.

| | names |
|---|---|
"""

TAIL = """
## What is decided where the standard leaves it open

- A Python float with an integer tensor, and an integer tensor in a function of floats, become `float32` unless
  `set_default_dtype` says otherwise; an integer with a float tensor takes the tensor's dtype; `bool` with a number
  takes the number's.
- `uint64` with a signed integer has no common integer dtype and is a `TypeError`.
- A complex number with an integer tensor becomes `complex64`, or `complex128` where the default is `float64`. A
  complex dtype becomes a real one by `real`, `imag` or `abs` only: `astype` to one other than `bool` is a `TypeError`,
  as is an order of complex numbers. Products and quotients are the plain formulas: an infinite part beside a NaN is no
  infinity in them.
- `unique_*` order complex numbers by the real, then the imaginary part.
- `float16`, `bfloat16` and `float8_e4m3` exist beside the standard's dtypes; float16 with bfloat16 is `float32`.
- NumPy's numbers (`np.float64(2)`) are operands of their own dtype; its arrays beside a tensor are copied to the
  device.
- Integer division by zero gives 0, overflow wraps; a float that becomes an integer truncates and saturates, NaN gives
  0.
- `//` and `%` of floats are Python's and NumPy's: `inf // 2` is NaN, `1.0 // -inf` is -1.
- Sorting is always stable; NaN is the largest value. `argmax` and `argmin` give the first occurrence.
- A Python integer outside an integer dtype is an `OverflowError`, an index outside its axis an `IndexError`.
- Strides count elements.
- What the standard takes by name only may be given by place where NumPy has it there: `rk.sum(x, 0)`.
- A transform of `fft` takes real numbers where the standard asks for complex ones, of integers and bool in float32;
  float16 and bfloat16 are a `TypeError`.

## What is missing

- DLPack from host memory copies on the emulator too: its kernels reach one reserved range of addresses only,
  so that no wrong access can hurt the process, and another library's pages can't be moved into it. DLPack to NumPy and
  PyTorch shares.

## Libraries that take tensors

`make test` runs a few functions of each.

- **einops** takes tensors in its own functions: `import rocmkern` is enough, before or after einops.
- **dask.array** and **xarray** keep tensors inside: `dask.array.from_array(x, asarray=False)`, `xarray.DataArray(x)`.
  xarray's `where` needs the other value, since it knows the missing one of NumPy's dtypes only: `a.where(a > 3, 0.0)`.
- **scikit-learn** and **SciPy** dispatch by the standard: `SCIPY_ARRAY_API=1`, and
  `config_context(array_api_dispatch=True)` for scikit-learn.
- **pandas** takes a tensor as a column, an operand of a Series on either side and a condition of `where`, by a copy to
  the host. Its indexing and the operators of a DataFrame take NumPy's arrays only: `series[np.asarray(mask)]`.
- **matplotlib** draws tensors of any real dtype, which it copies to the host at each call.

## The public test suites

`python scripts/public_suites.py` runs them on this namespace: `array-api FOLDER`, where FOLDER is a clone of
[array-api-tests](https://github.com/data-apis/array-api-tests) with its submodule, and `scipy` and `scikit-learn`,
whose wheels bring their tests. The two run with a default dtype of float64, which they expect. On the emulator of
gfx942 with NumPy 2.4.6, on 2026-11-29:

| suite | version | passed | failed | skipped |
|---|---|---|---|---|
| array-api-tests for 2025.12, up to 10 examples each | 55fcc60 | 1365 | 18 | 5 |
| scikit-learn | 1.9.1 | 1104 | 0 | 4 |
| SciPy from `_lib` to `ndimage` | 1.17.1 | 9218 | 8 | 2733 |
| SciPy's `optimize` | 1.17.1 | 605 | 0 | 3 |
| SciPy's `signal` | 1.17.1 | 2401 | 1 | 366 |
| SciPy's `spatial` | 1.17.1 | 370 | 0 | 1 |
| SciPy's `special` | 1.17.1 | 1876 | 2 | 117 |
| SciPy's `stats` | 1.17.1 | 1671 | 38 | 180 |

- array-api-tests: the 18 are six special cases of `//`, each as function, operator and in place. The standard prefers
  the floor of the quotient there and allows Python's values, which the suite does not.
- SciPy from `_lib` to `ndimage`: array-api-strict skips two of the eight, which are for lazy backends or assign by
  arrays. Of the others four compare cumulative sums along different axes to the last digit, which kernels add in
  different orders (`TestCumulativeSimpson::test_nd`), one is a float32 transform 1.8e-4 off where 1.5e-4 are allowed,
  and one asks for another library's words of an error.
- `signal`: array-api-strict fails that one too, which wants the roots of a real polynomial to be conjugates
  to the last bit.
- `special`: both expect float64 of an int64 beside a float32 tensor, which is float32 here.
- `stats`: array-api-strict skips 36, in which SciPy's own functions put results on the default device, not on that of
  their operands. Of the other two one compares statistics along different axes to the last digit
  (`TestMood::test_mood_3d`), and one wants the mean of the largest float32, twice, to be infinite
  (`TestXP_Mean::test_dtype`), which here is that number.
- So ten of SciPy's tests fail that array-api-strict passes: six from `_lib` to `ndimage`, two of `special`, two of
  `stats`.

## What the host does

Kernels do the work; the host reads back one number where a shape depends on data (`nonzero`, masks, `unique_*`,
`repeat` with a tensor), and the verdicts on indices and matrices, on a GPU when it waits for the device anyway
([semantics](semantics.md#an-index-outside-its-axis)). `asarray` converts lists on the host, `repr`, `tolist` and
pickling copy to it, and on the emulator `numpy()` reads the memory itself.

A few numbers are made sooner than launched for: the host works out the frequencies of `fftfreq` and `rfftfreq`, and of
few elements, whose values it must see in any case, the counts of `bincount`, the length and places of `repeat` with a
tensor, and whether all are true for `allclose` and `array_equal`. A generator of random numbers makes its
key on the host.
"""


def standard_names() -> dict[str, list[str]]:
    """The standard's names by chapter, as array-api-strict files them."""
    chapters: dict[str, list[str]] = {}
    for name in array_api_strict.__all__:
        if name in OWN_NAMES or name in EXTENSIONS or "array_api_strict" in name.lower() or "ArrayAPIStrict" in name:
            continue
        thing = getattr(array_api_strict, name)
        module = getattr(inspect.unwrap(thing), "__module__", "") if callable(thing) else ""
        own = module.startswith("array_api_strict")
        chapter = module.rpartition("._")[2].replace("_", " ") if own else "constants and dtypes"
        chapters.setdefault({"info": "inspection"}.get(chapter, chapter), []).append(name)
    return chapters


def extension_names(extension: str) -> list[str]:
    """The names that the standard has in an extension: those array-api-strict wraps to switch them on and off."""
    namespace = getattr(array_api_strict, extension)
    functions = [(n, f) for n, f in vars(namespace).items() if inspect.isfunction(f) and hasattr(f, "__wrapped__")]
    return sorted(n for n, f in functions if f.__module__ == f"array_api_strict._{extension}")


def has(namespace: ModuleType | None, name: str) -> bool:
    return hasattr(namespace, name)


def row(title: str, namespace: ModuleType | None, names: list[str]) -> str:
    shown = ", ".join(f"`{n}`" if has(namespace, n) else f"~~`{n}`~~" for n in names)
    return f"| {title} ({sum(has(namespace, n) for n in names)}/{len(names)}) | {shown} |"


def render() -> str:
    chapters = standard_names()
    every = [n for names in chapters.values() for n in names]
    extensions = {e: (getattr(rk, e, None), extension_names(e)) for e in EXTENSIONS}
    more = [has(namespace, n) for namespace, names in extensions.values() for n in names]
    rows = [row(chapter, rk, names) for chapter, names in chapters.items()]
    rows += [row(f"extension `{e}`", namespace, names) for e, (namespace, names) in extensions.items()]
    beyond = sorted(set(rk.__all__) - set(every))
    functions = [n for n in beyond if rk._HOME[n].startswith("rocmkern.ops.")]
    rows.append(f"| beyond the standard | {', '.join(f'`{n}`' for n in functions)} |")
    head = HEAD.format(
        version=rk.__array_api_version__, have=sum(has(rk, n) for n in every), all=len(every), have_more=sum(more),
        all_more=len(more),
    )  # fmt: skip
    return head + "\n".join(rows) + "\n" + TAIL


if __name__ == "__main__":
    TARGET.write_text(render())
