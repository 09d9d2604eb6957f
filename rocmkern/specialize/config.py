"""The configuration of `rocmkern gen-kernels`: what it says, and everything that can be wrong with it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from rocmkern.errors import ConfigError
from rocmkern.paths import leads_into
from rocmkern.specialize import operations
from rocmkern.specialize.descriptor import TensorDescriptor, parse
from rocmkern.targets import BUILT, TARGETS, is_ptx, strip_features

KEYS: Final = ("kernel_name", "kernel_source", "arch", "input_tensors", "output_tensor", "exported_name")
_NAME: Final = re.compile(r"[A-Za-z_]\w*")


@frozen
class Request:
    """One kernel to make: which operation, for which tensors and target, under which name."""

    kernel_name: str
    source: Path
    target: str
    inputs: tuple[TensorDescriptor, ...]
    output: TensorDescriptor
    exported_name: str


def load(path: Path, kernels_dir: Path | None = None, targets: Sequence[str] = ()) -> list[Request]:
    """The requests of a configuration file, one per entry and target; `targets` replace the entries' own.

    Raises ConfigError (a ValueError) that lists every mistake with the entry's index and field.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(
            f"gen-kernels: failed to load configuration {path}: {error.strerror}; check the path"
        ) from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"gen-kernels: failed to load configuration {path}: {error}; it must be JSON") from None
    return requests(document, kernels_dir, targets)


def requests(document: object, kernels_dir: Path | None = None, targets: Sequence[str] = ()) -> list[Request]:
    """The requests of a configuration that is read already."""
    if kernels_dir is not None and not kernels_dir.is_dir():
        raise ConfigError(f"gen-kernels: kernels directory not found: {kernels_dir}; give --kernels-dir a folder")
    if not isinstance(document, dict) or "kernels" not in document:
        raise ConfigError('gen-kernels: the configuration must contain a "kernels" key; see the example in the docs')
    entries = document["kernels"]
    if not isinstance(entries, list):
        raise ConfigError(f'gen-kernels: "kernels" must be a list, it is {type(entries).__name__}; put entries in []')
    unknown = sorted(set(document) - {"kernels", "description"})
    problems = [f"unknown key {key!r}" for key in unknown]
    if not entries:
        problems.append('"kernels" is empty; nothing would be made')
    found: list[Request] = []
    for index, entry in enumerate(entries):
        with collecting(problems):
            found += _entry(entry, f"kernel {index}", kernels_dir, targets)
    seen: dict[str, int] = {}
    for index, request in enumerate(found):
        name = f"{strip_features(request.target)}/{request.exported_name}"
        if seen.setdefault(name, index) != index:
            problems.append(f"{name} comes twice; every exported_name must differ")
    if problems:
        raise ConfigError("\n".join(f"gen-kernels: {problem}" for problem in problems))
    return found


def is_possible(entry: dict[str, Any]) -> bool:
    """Whether a configuration may have that entry."""
    try:
        requests({"kernels": [entry]})
    except ConfigError:
        return False
    return True


@contextmanager
def collecting(problems: list[str]) -> Iterator[None]:
    """Keeps a ConfigError as one problem of several."""
    try:
        yield
    except ConfigError as error:
        problems.append(str(error))


def _entry(entry: object, where: str, kernels_dir: Path | None, targets: Sequence[str]) -> list[Request]:
    if not isinstance(entry, dict):
        raise ConfigError(f"{where}: it is {type(entry).__name__}, an object was wanted; give it {', '.join(KEYS)}")
    for key in KEYS:
        if key not in entry and not (key == "arch" and targets):
            raise ConfigError(f"{where}: missing {key!r}; every entry needs {', '.join(KEYS)}")
    unknown = sorted(set(entry) - set(KEYS))
    if unknown:
        raise ConfigError(f"{where}: unknown key {unknown[0]!r}; an entry has {', '.join(KEYS)}")
    name = _identifier(entry["kernel_name"], f"{where}, kernel_name")
    exported = _identifier(entry["exported_name"], f"{where}, exported_name")
    if not isinstance(entry["input_tensors"], list):
        raise ConfigError(f'{where}, input_tensors: {entry["input_tensors"]!r} is no list; write ["…", "…"]')
    inputs = tuple(parse(text, f"{where}, input_tensors[{i}]") for i, text in enumerate(entry["input_tensors"]))
    output = parse(entry["output_tensor"], f"{where}, output_tensor")
    source = _source(entry["kernel_source"], f"{where}, kernel_source", kernels_dir)
    operations.check(name, source, inputs, output, where)
    own = entry.get("arch")
    chosen: Sequence[Any] = targets or (own if isinstance(own, list) else [own])
    return [Request(name, source, _target(arch, f"{where}, arch"), inputs, output, exported) for arch in chosen]


def _identifier(value: Any, where: str) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ConfigError(f"{where}: {value!r} is no C identifier; use letters, digits and _ (no path separators)")
    return value


def _source(value: Any, where: str, kernels_dir: Path | None) -> Path:
    if not isinstance(value, str):
        raise ConfigError(f"{where}: {value!r} is no file name; name a .hip file")
    folders = ([kernels_dir] if kernels_dir is not None else []) + [operations.templates()]
    for folder in folders:
        path = folder / value
        if path.suffix == ".hip" and _is_file(path):
            if not leads_into(path, folder):
                raise ConfigError(f"{where}: {value} leads out of {folder}; copy the file into it")
            return path
    hint = f"the templates here are {', '.join(sorted(p.name for p in operations.templates().glob('*.hip')))}"
    searched = ", ".join(str(folder) for folder in folders)
    raise ConfigError(f"{where}: kernel source not found: {value} in {searched}; {hint}")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that none can have
        return False


def _target(value: Any, where: str) -> str:
    known = (*BUILT, *TARGETS)
    if isinstance(value, str) and (value.split(":")[0] in known or is_ptx(value)):
        return value
    if isinstance(value, str) and value.startswith("aie"):
        raise ConfigError(f"{where}: {value} is an NPU, whose kernels are no code objects; name a gfx target")
    raise ConfigError(f"{where}: unknown target {value!r}; there are {', '.join(dict.fromkeys(known))}")
