"""hsaco/ holds what the sources and the catalogue say, for every family and target."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from rocmkern import codeobject
from rocmkern.build import builder, toolchain
from rocmkern.kernels import families, files, shipped
from rocmkern.kernels.catalogue import Family
from rocmkern.targets import BUILT, devices

EVERY = [
    pytest.param(family, target, id=f"{target}-{family.name}") for target in BUILT for family in families.families()
]


def _in_turn(family: Family) -> str:
    """The target whose turn it is: each change of the bundle moves on."""
    return BUILT[hashlib.sha256(shipped.path(family.name).read_bytes()).digest()[0] % len(BUILT)]


@pytest.mark.parametrize(("family", "target"), EVERY)
def test_file_is_built_from_the_sources_as_they_are(family: Family, target: str) -> None:
    """It is whole, and its note names the hash of today's sources, flags and declarations."""
    assert builder.is_current(builder.Job(family, target)), f"{family.name} changed; run `rocmkern build`"


@pytest.mark.parametrize(("family", "target"), EVERY)
def test_symbols_are_the_catalogue_s(family: Family, target: str) -> None:
    """G5, G8: each target exports the same kernels, with the arguments that the catalogue declares."""
    read = codeobject.read(shipped.pieces(family.name)[target].entry.data)
    assert set(read.kernels) == set(family.by_symbol)
    assert read.undefined_symbols == ()
    for symbol, spec in family.by_symbol.items():
        there = [(a.size, a.is_pointer) for a in read.kernels[symbol].explicit_arguments]
        wanted = [(8 if p.is_pointer else p.dtype.itemsize, p.is_pointer) for p in spec.parameters]
        assert there == wanted, symbol


@pytest.mark.parametrize(("family", "target"), EVERY)
def test_kernels_use_no_memory_of_their_own(family: Family, target: str) -> None:
    """No kernel keeps registers or arrays in memory; LDS stays within what every device of the target has."""
    kernels = codeobject.read(shipped.pieces(family.name)[target].entry.data).kernels.values()
    assert [kernel.name for kernel in kernels if builder.spills(kernel) or kernel.private_size] == []
    limit = min(device.lds_bytes for device in devices(target))
    assert [kernel.name for kernel in kernels if kernel.lds_size > limit] == []


@pytest.mark.parametrize("family", families.families(), ids=lambda f: f.name)
def test_building_again_elsewhere_gives_the_same_bytes(family: Family, tmp_path: Path) -> None:
    """The target whose turn it is, compiled from a copy of the sources in another folder, is the committed file."""
    target = _in_turn(family)
    piece = shipped.pieces(family.name)[target]
    root = tmp_path / files.sources().name
    shutil.copytree(files.sources(), root)
    output = tmp_path / "again.hsaco"
    compiler = toolchain.detect("zig")
    assert piece.origin is not None
    assert (piece.origin.compiler, piece.origin.library, piece.origin.flags) == (
        compiler.compiler,
        compiler.library(target),
        compiler.flags(target),
    )
    compiler.compile(tmp_path, f"{root.name}/{family.name}.hip", target, output)
    assert output.read_bytes() == piece.entry.data


def test_all_of_it_is_small() -> None:
    """The code objects take up to 12 MB where they are installed."""
    assert sum(path.stat().st_size for path in files.code_objects().glob("*.hsaco")) < 12_000_000
