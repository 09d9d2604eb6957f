"""hsaco/ holds what the sources and the catalogue say, for every family and target."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from rocmkern import codeobject
from rocmkern.build import builder, manifest, toolchain
from rocmkern.kernels import families, files, sources
from rocmkern.kernels.catalogue import Family
from rocmkern.targets import BUILT, devices

EVERY = [
    pytest.param(family, target, id=f"{target}-{family.name}") for target in BUILT for family in families.families()
]
COLUMN = {name: index for index, name in enumerate(manifest.KERNEL_FIELDS)}


def _in_turn() -> str:
    """The target whose turn it is: each change of the manifest moves on."""
    return BUILT[hashlib.sha256(manifest.manifest_path().read_bytes()).digest()[0] % len(BUILT)]


@pytest.mark.parametrize(("family", "target"), EVERY)
def test_file_is_built_from_the_sources_as_they_are(family: Family, target: str) -> None:
    """The manifest names the file's own hash and the hash of today's sources."""
    job = builder.Job(family, target)
    entry = manifest.load()[job.name]
    assert entry.sha256 == manifest.digest(job.output)
    assert entry.source_hash == sources.source_hash(family.name), f"{family.name} changed; run `rocmkern build`"


@pytest.mark.parametrize(("family", "target"), EVERY)
def test_symbols_are_the_catalogue_s(family: Family, target: str) -> None:
    """G5, G8: each target exports the same kernels, with the arguments that the catalogue declares."""
    job = builder.Job(family, target)
    read = codeobject.read(job.output.read_bytes())
    assert set(read.kernels) == set(family.by_symbol)
    assert read.undefined_symbols == ()
    for symbol, spec in family.by_symbol.items():
        there = [(a.size, a.is_pointer) for a in read.kernels[symbol].explicit_arguments]
        wanted = [(8 if p.is_pointer else p.dtype.itemsize, p.is_pointer) for p in spec.parameters]
        assert there == wanted, symbol


@pytest.mark.parametrize(("family", "target"), EVERY)
def test_manifest_tells_what_the_kernels_use(family: Family, target: str) -> None:
    """No kernel keeps registers or arrays in memory; LDS stays within what every device of the target has."""
    job = builder.Job(family, target)
    rows = manifest.load()[job.name].kernels
    assert rows == manifest.kernel_rows(job.output.read_bytes())
    assert [name for name, row in rows.items() if row[COLUMN["spills"]] or row[COLUMN["private_size"]]] == []
    limit = min(device.lds_bytes for device in devices(target))
    assert [name for name, row in rows.items() if row[COLUMN["lds_size"]] > limit] == []


@pytest.mark.parametrize("family", families.families(), ids=lambda f: f.name)
def test_building_again_elsewhere_gives_the_same_bytes(family: Family, tmp_path: Path) -> None:
    """The target whose turn it is, compiled from a copy of the sources in another folder, is the committed file."""
    target = _in_turn()
    job = builder.Job(family, target)
    root = tmp_path / files.sources().name
    shutil.copytree(files.sources(), root)
    output = tmp_path / "again.hsaco"
    compiler = toolchain.detect("zig")
    entry = manifest.load()[job.name]
    assert (entry.compiler, entry.library, entry.flags) == (
        compiler.compiler,
        compiler.library(target),
        compiler.flags(target),
    )
    compiler.compile(tmp_path, f"{root.name}/{family.name}.hip", target, output)
    assert output.read_bytes() == job.output.read_bytes()


def test_all_of_it_fits_the_wheel() -> None:
    """The wheel is to stay under 25 MB; code objects compress about tenfold, and get 20 of them."""
    import zlib

    total = sum(len(zlib.compress(path.read_bytes(), 6)) for path in files.code_objects().glob("*/*.hsaco"))
    assert total < 20_000_000
