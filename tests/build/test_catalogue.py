"""The catalogue holds Candle's symbols, and the committed instance lists are the catalogue's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocmkern import dtypes
from rocmkern.errors import KernelNotFound, ModuleNotShipped
from rocmkern.kernels import families, sources
from rocmkern.kernels.catalogue import Family

CANDLE: dict[str, list[str]] = json.loads((Path(__file__).parent.parent / "data" / "candle_kernels.json").read_text())
DECLARED = families.families()


def test_every_candle_module_is_a_family() -> None:
    """All eleven modules of Candle's kernels, 748 symbols, have a family of the same name here."""
    assert set(CANDLE) - {family.name for family in DECLARED} == set()
    assert sum(map(len, CANDLE.values())) == 748


@pytest.mark.parametrize("family", DECLARED, ids=lambda f: f.name)
def test_every_candle_symbol_is_declared(family: Family) -> None:
    """A Candle port finds each kernel that Candle's own module of that name exports."""
    assert set(CANDLE.get(family.name, ())) - set(family.by_symbol) == set()


@pytest.mark.parametrize("family", DECLARED, ids=lambda f: f.name)
def test_instance_list_is_what_the_catalogue_renders(family: Family) -> None:
    """kernels_hip/instances/<family>.inc is committed as rendered."""
    assert sources.instances_path(family).read_text() == sources.rendered(family)


@pytest.mark.parametrize("family", DECLARED, ids=lambda f: f.name)
def test_symbols_name_their_family(family: Family) -> None:
    """Looking a symbol up leads to its family, whatever family it is asked through."""
    assert {families.spec(symbol).family for symbol in family.by_symbol} == {family.name}


def test_unknown_symbol_names_near_matches() -> None:
    """G6: a missing symbol says what there is instead."""
    with pytest.raises(KernelNotFound, match=r"no kernel 'affine_f23' in the catalogue; near: .*affine_f32"):
        families.spec("affine_f23")


def test_every_pair_of_dtypes_has_a_cast() -> None:
    """G5, G9: no cast is missing, and f8 is spelled as everywhere else."""
    wanted = {f"cast_{a.short}_{b.short}" for a in dtypes.REAL for b in dtypes.REAL}
    assert wanted <= families.family("cast").by_symbol.keys()


def test_unknown_family_names_the_families() -> None:
    """A wrong family name lists the right ones."""
    with pytest.raises(ModuleNotShipped, match=r"no kernel family 'afine'; there are .*affine"):
        families.family("afine")


def test_source_hash_follows_every_included_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change in a header changes the hash of the family that includes it, directly or not."""
    (tmp_path / "include").mkdir()
    (tmp_path / "affine.hip").write_text('#include "include/a.hpp"\n')
    (tmp_path / "include" / "a.hpp").write_text('#include "b.hpp"\n')
    (tmp_path / "include" / "b.hpp").write_text("int x;\n")
    monkeypatch.setattr("rocmkern.kernels.files.sources", lambda: tmp_path)
    before = sources.source_hash("affine")
    assert sources.source_hash("affine") == before
    (tmp_path / "include" / "b.hpp").write_text("int y;\n")
    assert sources.source_hash("affine") != before
