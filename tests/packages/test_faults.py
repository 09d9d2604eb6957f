"""What a package must not lead to, and that check() and selection agree about every row."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmkern.cli import main
from rocmkern.errors import KernelNotFound, PackageError
from rocmkern.packages import KINDS, KernelPackage, KernelTable, check
from rocmkern.packages.kinds import TopKSoftmaxArgs
from rocmkern.packages.tables import KernelRow
from tests import samples
from tests.packages.test_package import SHORTER, SOFTMAX, note

UNDEFINED = samples.compile_hip("""
extern "C" __attribute__((device, visibility("default"))) int elsewhere(int);
KERNEL void slots(int *out) { out[0] = elsewhere(1); }
""")
HEADER = "knl_name,co_name,subm,num_experts,topk,dtype"
PROBLEM = {"tokens": 100, "num_experts": 128, "topk": 4, "dtype": "fp32"}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package with files of every kind, beside things that are none of its own."""
    around = tmp_path_factory.mktemp("around")
    folder = around / "package/gfx942/topksoftmax"
    (folder / "sub").mkdir(parents=True)
    (around / "outside.co").write_bytes(SOFTMAX)
    (around / "secret.txt").write_text("TOPSECRET words\n")
    contents = {
        "good.co": SOFTMAX, "sub/inner.co": SOFTMAX, "corrupt.co": SOFTMAX[:700], "text.co": b"TOPSECRET",
        "shorter.co": SHORTER, "undefined.co": UNDEFINED,
        "other.co": samples.hand_written(note(TopKSoftmaxArgs), "gfx90a"),
    }  # fmt: skip
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    for name, leads in {"out.co": around / "outside.co", "loop.co": "loop.co", "in.co": "good.co"}.items():
        (folder / name).symlink_to(leads)
    (folder / "circle").symlink_to(around / "package")
    os.mkfifo(folder / "pipe.co")
    return around


def opened(tree: Path, *rows: str) -> KernelPackage:
    (tree / "package/gfx942/topksoftmax/t.csv").write_text("\n".join([HEADER, *rows]) + "\n")
    return KernelPackage.open(tree / "package")


def selected(package: KernelPackage) -> Path:
    return KernelTable.of(package, KINDS["topksoftmax"], "gfx942").select(304, **PROBLEM).path


def said_of_rows(package: KernelPackage) -> list[str]:
    return [finding.fact for finding in check(package).findings if "t.csv" in finding.place]


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("../../../outside.co", "leads out of the package"),
        ("../../../secret.txt", "leads out of the package"),
        ("/etc/passwd", "leads out of the package"),
        ("/dev/zero", "leads out of the package"),
        ("out.co", "leads out of the package"),
        ("circle/../secret.txt", "leads out of the package"),
        ("loop.co", "can't be opened (Too many levels of symbolic links)"),
        ("n" * 300 + ".co", "can't be opened (File name too long)"),
        ("a\0b.co", "can't be opened (embedded null byte)"),
        ("pipe.co", "is no regular file"),
        (".", "is no regular file"),
        ("**/good.co", "is missing"),
        ("good.co/x", "can't be opened (Not a directory)"),
        ("[a-z]*.co", "is missing"),
        ("corrupt.co", "is truncated or corrupt"),
        ("text.co", "no ELF and no offload bundle (9 bytes)"),
        ("shorter.co", "kernarg_segment_size is 112"),
        ("undefined.co", "elsewhere"),
        ("other.co", "the ELF is for gfx90a"),
    ],
)
def test_a_file_that_a_row_must_not_name(tree: Path, file: str, words: str) -> None:
    """Neither check() nor selection opens what lies outside the package or is no file, and both say why."""
    package = opened(tree, f"slots,{file},4,128,4,fp32")
    (said,) = said_of_rows(package)
    assert words in said
    with pytest.raises(KernelNotFound) as told:
        selected(package)
    assert words in str(told.value)
    assert "TOPSECRET" not in said + str(told.value)


def test_a_file_that_a_row_may_name(tree: Path) -> None:
    """One in a sub-folder, and one behind a link that stays in the package."""
    for file in ("good.co", "sub/inner.co", "in.co", "sub/../good.co", "circle/gfx942/topksoftmax/good.co"):
        package = opened(tree, f"slots,{file},4,128,4,fp32")
        assert said_of_rows(package) == []
        assert selected(package) == tree / "package/gfx942/topksoftmax" / file


@pytest.mark.parametrize("subm", ["0", "-4", "", "few", "1e400", "nan", "9" * 4000, "9" * 5000, str((1 << 20) + 1)])
def test_a_tile_that_no_workgroup_has(tree: Path, subm: str) -> None:
    """A row whose grid can't be told is passed over, and found."""
    package = opened(tree, f"slots,good.co,{subm},128,4,fp32")
    words = "subm is no number from 1 to 1048576"
    assert said_of_rows(package) == [words]
    with pytest.raises(KernelNotFound, match=words):
        selected(package)


@pytest.mark.parametrize("kind", ["i8gemm", "bf16gemm"])
def test_every_kind_names_its_tiles(kind: str) -> None:
    """A row without numbers for them is refused before anything is divided by them."""
    found = KINDS[kind]
    row: dict[str, Any] = dict.fromkeys(found.tiles, 64)
    assert found.untiled(rows(row)) is None
    for column in found.tiles:
        assert found.untiled(rows(row | {column: 0})) == f"{column} is no number from 1 to 1048576"


def rows(values: dict[str, Any]) -> KernelRow:
    return KernelRow("k", "k.co", values, 1)


@pytest.mark.parametrize("kind", ["i8gemm", "bf16gemm"])
def test_no_negative_splits(kind: str) -> None:
    """A table of measurements may ask for them."""
    row = rows(dict.fromkeys((*KINDS[kind].tiles, "splitK"), 64))
    (rule,) = (rule for rule in KINDS[kind].rules if rule.name == "splits")
    assert rule.test(row, {"splits": -3}) == "-3 splits are asked for"
    assert [rule.test(row, problem) for problem in ({}, {"splits": 0}, {"splits": 3})] == [None] * 3


def test_the_next_best_row_is_taken(tree: Path) -> None:
    """Where the best one's file is damaged; the explanation says so."""
    package = opened(tree, "slots,corrupt.co,4,128,4,fp32", "slots,good.co,2,128,4,fp32")
    choice = KernelTable.of(package, KINDS["topksoftmax"], "gfx942").select(304, **PROBLEM)
    assert choice.path.name == "good.co"
    assert "slots: rejected, read: the ELF is truncated or corrupt" in choice.explain()


SUBM = st.sampled_from(["4", "12", "0", "-1", "", "1e9", "nan", "_1", "../a", '"', "/*", "#"])
FILES = st.sampled_from(["good.co", "in.co", "out.co", "gone.co", "corrupt.co", "shorter.co", "**", ".", "/", "sub"])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["slots", "nope"]), FILES, SUBM), min_size=1, max_size=3))
def test_check_and_selection_agree(tree: Path, drawn: list[tuple[str, str, str]]) -> None:
    """A kernel is found where check() has nothing against some row, and a table that one can't read the other can't."""
    package = opened(tree, *(f"{symbol},{file},{subm},128,4,fp32" for symbol, file, subm in drawn))
    many = PROBLEM | {"tokens": 100_000}  # for which any tile does
    try:
        wrong = {f.place for f in check(package).findings if "t.csv" in f.place and f.rule != "duplicate key"}
    except PackageError as error:
        with pytest.raises(PackageError, match=re.escape(str(error))):
            KernelTable.of(package, KINDS["topksoftmax"], "gfx942")
        return
    table = KernelTable.of(package, KINDS["topksoftmax"], "gfx942")
    if len(wrong) == len(table.tables[0].table.rows):
        with pytest.raises(KernelNotFound):
            table.select(304, **many)
    else:
        assert f"gfx942/topksoftmax/t.csv:{table.select(304, **many).row.line}" not in wrong


def test_tables_outside_the_package_are_not_read(tree: Path, tmp_path: Path) -> None:
    """A table that is a link to something else is an error that says nothing of what is there."""
    folder = tmp_path / "package/gfx942/topksoftmax"
    folder.mkdir(parents=True)
    for leads in (tree / "secret.txt", Path("t.csv")):
        (folder / "t.csv").unlink(missing_ok=True)
        (folder / "t.csv").symlink_to(leads)
        with pytest.raises(PackageError, match=r"read table t\.csv: it (leads out of the package|can't be opened)"):
            check(KernelPackage.open(tmp_path / "package"))
    (folder / "t.csv").unlink()
    (folder / "t.csv").write_text("TOPSECRET,words\n")
    done = CliRunner().invoke(main, ["package", "check", str(tmp_path / "package")])
    assert done.exit_code != 0
    assert "TOPSECRET" not in done.output + str(done.exception)


def test_files_without_a_table_that_are_damaged_are_passed_over(tmp_path: Path) -> None:
    """Those that can be read are chosen from."""
    folder = tmp_path / "gfx942/topksoftmax"
    folder.mkdir(parents=True)
    (folder / "topksoftmax_4x128x4.co").write_bytes(SOFTMAX)
    (folder / "topksoftmax_8x128x4.co").write_bytes(SOFTMAX[:900])
    (folder / "topksoftmax_0x128x4.co").write_bytes(SOFTMAX)
    assert selected(KernelPackage.open(tmp_path)).name == "topksoftmax_4x128x4.co"
