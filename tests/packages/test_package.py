"""Packages of foreign kernels: tables read, checked, chosen from; argument blocks compared with the file."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from attrs import define
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern import codeobject, dtypes
from rocmkern.cli import main
from rocmkern.errors import ArgumentError, KernelNotFound, PackageError, ShapeError
from rocmkern.kernels.csv_table import read_csv
from rocmkern.kernels.tuned import TunedTable, padded_m
from rocmkern.packages import KINDS, KernelArgs, KernelPackage, KernelTable, Packing, check, pointer, scalar
from rocmkern.packages.kind import rounds
from rocmkern.packages.kinds import Bf16GemmArgs, I8GemmArgs, TopKSoftmaxArgs, i8_splits
from rocmkern.packages.tables import KernelRow, read_table
from tests import samples
from tests.hip_double import Double


def note(args: type[KernelArgs], size: int | None = None, drop: int = 0) -> bytes:
    """The metadata of a hand-written kernel `slots` with the arguments of a class, pads listed as AITER lists them."""
    listed: list[dict[str, Any]] = []
    for one in args.layout()[: len(args.layout()) - drop]:
        kind = "global_buffer" if one.parameter.is_pointer else "by_value"
        listed.append({".name": one.parameter.name, ".offset": one.offset, ".size": one.size, ".value_kind": kind})
        pad = 16 - one.size
        listed.append({".name": "pad", ".offset": one.offset + one.size, ".size": pad, ".value_kind": "by_value"})
    kernel = {
        ".name": "slots", ".symbol": "slots.kd", ".args": listed, ".kernarg_segment_size": size or args.nbytes(),
        ".wavefront_size": 64, ".max_flat_workgroup_size": 256, ".reqd_workgroup_size": [256, 1, 1],
    }  # fmt: skip
    return bytes(msgpack.packb({"amdhsa.version": [1, 0], "amdhsa.kernels": [kernel]}))


SOFTMAX = samples.hand_written(note(TopKSoftmaxArgs))
SHORTER = samples.hand_written(note(TopKSoftmaxArgs, 112, drop=1))
TABLE = """\ufeff// kernels /* of the
# older form
knl_name,co_name,subm,num_experts,topk,dtype

slots,a.co,4,128,4,fp32   ; the small one
slots,b.co,12,128,4,fp32
slots,c.co,4,256,,fp32
"nope",a.co,4,64,4,bf16
slots,gone.co,4,32,4,fp32
slots,variant.co,4,16,4,fp32
slots,a.co,4,128,4,fp32
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A package with each mistake that check() knows."""
    kind = tmp_path / "hsa" / "gfx942" / "topksoftmax"
    (kind / "MI308").mkdir(parents=True)
    for name, image in {"a.co": SOFTMAX, "b.co": SOFTMAX, "c.co": SHORTER, "MI308/variant.co": SOFTMAX}.items():
        (kind / name).write_bytes(image)
    (kind / "corrupt.co").write_bytes(SOFTMAX[:700])
    (kind.parent / "other.co").write_bytes(samples.compile_hip(samples.ADD, "gfx950"))
    (kind / "topksoftmax.csv").write_text(TABLE, "utf-8")
    (tmp_path / "hsa" / "codegen.py").write_text("")
    return tmp_path


def softmax(tree: Path) -> KernelTable:
    return KernelTable.of(KernelPackage.open(tree), KINDS["topksoftmax"], "gfx942:sramecc+:xnack-")


PROBLEM = {"tokens": 100, "num_experts": 128, "topk": 4, "dtype": "fp32"}


def test_table_is_typed_by_all_of_its_rows(tree: Path) -> None:
    """Integers stay integers, a missing one is missing and not 0; comments and the byte order mark are no data."""
    table = read_table(tree / "hsa/gfx942/topksoftmax/topksoftmax.csv")
    assert table.columns == ("subm", "num_experts", "topk", "dtype")
    assert [row.file for row in table.rows] == ["a.co", "b.co", "c.co", "a.co", "gone.co", "variant.co", "a.co"]
    assert [row["topk"] for row in table.rows] == [4, 4, None, 4, 4, 4, 4]
    assert table.rows[0].line == 5
    assert table.rows[3].symbol == "nope"


def test_older_column_name(tmp_path: Path) -> None:
    """`knl_file` is `co_name`; a column with one fraction holds numbers, with one word text."""
    path = tmp_path / "t.csv"
    path.write_text("tn,knl_name,knl_file,x,y\n1,k,f.co,1,1\n2,l,g.co,1.5,a\n")
    rows = read_table(path).rows
    assert [(r.symbol, r.file) for r in rows] == [("k", "f.co"), ("l", "g.co")]
    assert rows[0].values == {"tn": 1, "x": 1.0, "y": "1"}


@given(st.lists(st.tuples(st.integers(-99, 99), st.text("abc #/*;\"'", max_size=6)), max_size=5))
def test_quoted_text_is_never_a_comment(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, str]]) -> None:
    """Whatever stands in quotes comes back; comment marks in it are text."""
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    quoted = ['{},"{}"'.format(n, text.replace('"', '""')) for n, text in rows]
    path.write_text("\n".join(["n,text", *quoted]))
    _, read = read_csv(path)
    assert [(cells["n"], cells["text"] or "") for _, cells in read] == [(n, text.strip()) for n, text in rows]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n", "of its 2 columns none is knl_name, or none co_name or knl_file"),
        ("", "of its 0 columns none is knl_name"),
        ("knl_name,co_name\nk\n", "line 2 names no symbol or no file"),
        ("knl_name,co_name\nk,f,1\n", "line 2 has 3 cells, the header 2"),
        ("knl_name,co_name,a,a\n", "a column is named twice"),
        ("knl_name,co_name\nk,f\n/* no end\n", "line 3 begins a comment that has no end"),
        (f"knl_name,co_name\n{'k' * 5000},f\n", "line 2 has a name of 5000 letters, 4096 are the most"),
        (f"knl_name,co_name\nk,f\n{'k' * 200_000},f\n", "field larger than field limit"),
        (f"knl_name,co_name{',' * 1000}\n" + "k,f\n" * 1000, "a column is named twice"),
        (f"knl_name,co_name,{','.join(map(str, range(1000)))}\n" + "k,f\n" * 1000, "it has more than 262144 cells"),
        ("/*" * 500_000, "line 1 begins a comment that has no end"),
        ("knl_name,co_name\n" + "k,f\n" * 600_000, "it has more than 2097152 bytes"),
        ("knl_name,co_name\n" + "\n" * 70_000, "it has more than 65536 lines"),
        ("knl_name,co_name\r" + "\r" * 70_000, "it has more than 65536 lines"),
        (f"knl_name,co_name\nk,f{',' * 2000}\n", "line 2 has more than 1024 cells"),
    ],
)
def test_tables_that_are_none(tmp_path: Path, text: str, words: str) -> None:
    """The error names the file and what is wrong with it."""
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(PackageError, match=f"read table t.csv: {words}"):
        read_table(path)


def test_open_finds_the_tree(tree: Path) -> None:
    """In a checkout, or the tree itself; a folder without one says so."""
    assert KernelPackage.open(tree).root == KernelPackage.open(tree / "hsa").root == tree / "hsa"
    assert KernelPackage.open(tree).archs == ("gfx942",)
    with pytest.raises(PackageError, match="holds no folder named after a target"):
        KernelPackage.open(tree / "hsa" / "gfx942")
    with pytest.raises(PackageError, match="is no folder"):
        KernelPackage.open(tree / "nowhere")


def test_check_finds_what_is_wrong(tree: Path) -> None:
    """One finding for each mistake in the tree, and totals of files and rows."""
    report = check(KernelPackage.open(tree))
    assert {(f.rule, f.place.split("/")[-1]) for f in report.findings} == {
        ("readable", "corrupt.co"),
        ("arch of folder", "other.co"),
        ("duplicate key", "topksoftmax.csv:11"),
        ("symbol in file", "topksoftmax.csv:8"),
        ("file present", "topksoftmax.csv:9"),
        ("host arguments", "topksoftmax.csv:7"),
    }
    assert report.totals() == {
        "files": 6, "rows": 7, "matching rows": 3, "rows with files in sub-folders": 1, "dangling rows": 1,
        "files in no table": 3, "files for gfx942": 6,
    }  # fmt: skip


def test_check_command(tree: Path) -> None:
    """Prints findings and totals, and exits with 1 where there are findings."""
    done = CliRunner().invoke(main, ["package", "check", str(tree)])
    assert done.exit_code == 1
    assert "gone.co is missing" in done.output
    assert "matching rows" in done.output


def test_choice_follows_the_rules(tree: Path) -> None:
    """Exact shape, the largest tile that suits the tokens; explain() gives a reason for every row."""
    few, many = softmax(tree).select(304, **PROBLEM), softmax(tree).select(304, **PROBLEM | {"tokens": 20_000})
    assert (few.path.name, few.grid, few.block) == ("a.co", (25, 1, 1), (256, 1, 1))
    assert (many.path.name, many.grid) == ("b.co", (1667, 1, 1))
    edge = [softmax(tree).select(304, **PROBLEM | {"tokens": n}).path.name for n in (9_999, 10_000)]
    assert edge == ["a.co", "b.co"]
    lines = few.explain().splitlines()
    assert lines[0] == "topksoftmax for tokens=100, num_experts=128, topk=4, dtype=fp32: slots (heuristic)"
    assert [line for line in lines if line.startswith("→")] == ["→ slots: cost -4"]
    assert "  slots: rejected, subm=12 is for 10000 tokens and more, 100 are given" in lines
    assert "  slots: rejected, gone.co is missing" in lines


def test_equal_costs_keep_table_order(tree: Path) -> None:
    """Of the two rows for one problem the first is taken."""
    assert softmax(tree).select(304, **PROBLEM).row.line == 5


def test_no_kernel_for_a_problem(tree: Path) -> None:
    """The error lists every candidate's reason; a problem without a key is told which."""
    with pytest.raises(
        KernelNotFound, match=r"no kernel for tokens=100, num_experts=512.*\n.*num_experts is 128, 512 is"
    ):
        softmax(tree).select(304, **PROBLEM | {"num_experts": 512})
    with pytest.raises(ShapeError, match="select topksoftmax: dtype missing; give tokens, num_experts, topk, dtype"):
        softmax(tree).select(304, tokens=1, num_experts=128, topk=4)
    with pytest.raises(KernelNotFound, match=r"the package has no table of it for gfx950; it has .*gfx942"):
        KernelTable.of(KernelPackage.open(tree), KINDS["topksoftmax"], "gfx950").select(304, **PROBLEM)


def test_files_without_a_table_are_chosen_by_name(tmp_path: Path) -> None:
    """Where no table is shipped, the file names hold the columns."""
    folder = tmp_path / "gfx942" / "topksoftmax"
    folder.mkdir(parents=True)
    for name in ("topksoftmax_4x128x6.co", "topksoftmax_12x128x6.co", "topksoftmax_4x128x6_bf16.co", "unrelated.co"):
        (folder / name).write_bytes(SOFTMAX)
    table = KernelTable.of(KernelPackage.open(tmp_path), KINDS["topksoftmax"], "gfx942")
    problem = {"tokens": 10, "num_experts": 128, "topk": 6}
    assert table.select(304, **problem, dtype="fp32").path.name == "topksoftmax_4x128x6.co"
    assert table.select(304, **problem, dtype="bf16").path.name == "topksoftmax_4x128x6_bf16.co"


def test_rounds_rule() -> None:
    """Fewer rounds win, then less idling, then more work per byte."""
    assert rounds(304, 128, 128, 304) < rounds(305, 256, 256, 304)
    assert rounds(304, 128, 128, 304) < rounds(300, 256, 256, 304)
    assert rounds(300, 256, 256, 304) < rounds(300, 128, 128, 304)


def test_slots_of_the_known_classes() -> None:
    """Sizes and offsets that the files have: 8, 13 and 21 slots of 16 bytes."""
    assert (TopKSoftmaxArgs.nbytes(), I8GemmArgs.nbytes(), Bf16GemmArgs.nbytes()) == (128, 208, 336)
    assert [d.offset for d in I8GemmArgs.layout()] == list(range(0, 208, 16))
    assert "  112 out_stride: u32 in bytes".strip() in TopKSoftmaxArgs.describe()


def test_packings() -> None:
    """Slots, natural alignment and none, for (u8, pointer, u16, f64)."""

    @define(kw_only=True, eq=False)
    class Mixed(KernelArgs):
        flag: int = scalar(dtypes.uint8)
        data: Any = pointer(dtypes.float32)
        count: int = scalar(dtypes.uint16, "rows")
        scale: float = scalar(dtypes.float64)

    offsets = {}
    for packing in Packing:
        Mixed.packing = packing
        offsets[packing] = ([d.offset for d in Mixed.layout()], Mixed.nbytes())
    assert offsets == {
        Packing.SLOTS_16: ([0, 16, 32, 48], 64),
        Packing.NATURAL: ([0, 8, 16, 24], 32),
        Packing.PACKED: ([0, 1, 9, 11], 19),
    }


def arguments(memory: rk.DeviceMemory, **changed: Any) -> TopKSoftmaxArgs:
    values: dict[str, Any] = {
        "indices": memory, "weights": memory, "gating": memory, "tokens": 100, "experts": 128, "topk": 4,
        "renormalize": 1, "out_stride": 16,
    }  # fmt: skip
    return TopKSoftmaxArgs(**values | changed)


def test_block_is_packed_into_slots(double: Double) -> None:
    """Each argument in its own slot, the rest zero; it arrives at HIP as packed."""
    device = rk.Device("hip:0")
    function = rk.Module.load_data(SOFTMAX, device).get_function("slots")
    memory = device.alloc(64)
    packed = arguments(memory).pack(function)
    at = memory.address
    assert packed == b"".join(struct.pack("<Q8x", at) for _ in range(3)) + b"".join(
        struct.pack("<I12x", n) for n in (100, 128, 4, 1, 16)
    )
    function.launch_packed(packed, grid=25, block=256)
    assert double.arguments() == packed


def test_foreign_kernel_is_called_by_name(double: Double) -> None:
    """Without a class, the file's names do: pads are left out, scalars bring their width."""
    device = rk.Device("hip:0")
    function = rk.Module.load_data(SOFTMAX, device).get_function("slots")
    memory, u32 = device.alloc(64), np.uint32
    named = {"tokens": u32(100), "experts": u32(128), "topk": u32(4), "renormalize": u32(1), "out_stride": u32(16)}
    function(memory, weights=memory, gating=memory, **named, grid=25, block=256)
    assert double.arguments() == arguments(memory).pack(function)
    with pytest.raises(ArgumentError, match=r"slots: unknown: tokns; slots\(indices: pointer, weights: pointer"):
        function.pack(memory, memory, memory, tokns=u32(1))
    with pytest.raises(ArgumentError, match="slots: missing: topk, out_stride"):
        function.pack(memory, memory, memory, tokens=u32(1), experts=u32(1), renormalize=u32(1))
    with pytest.raises(ArgumentError, match="slots: given twice: indices"):
        function.pack(memory, indices=memory)


def test_drift_shows_both_layouts(double: Double) -> None:
    """A file of another build has other slots: the error shows host and file side by side and marks the difference."""
    device = rk.Device("hip:0")
    function = rk.Module.load_data(SHORTER, device).get_function("slots")
    with pytest.raises(ArgumentError) as caught:
        arguments(device.alloc(64)).pack(function)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("pack slots: TopKSoftmaxArgs has 128 bytes, the file wants 112: the file has 7 arg")
    assert lines[2].split("|")[0].split() == ["0", "indices:", "i32*"]
    assert lines[-1].split() == ["≠", "112", "out_stride:", "u32", "in", "bytes", "|"]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("tokens", -1, r"argument 3 \(tokens\) is -1; uint32 holds 0 to 4294967295"),
        ("tokens", 1.5, r"argument 3 \(tokens\) is the float 1\.5, uint32 was wanted"),
        ("gating", None, r"argument 2 \(gating\) is None; this parameter needs device memory"),
        ("gating", 7, r"argument 2 \(gating\) is a int, a pointer was wanted"),
    ],
)
def test_values_are_checked(double: Double, name: str, value: object, words: str) -> None:
    """As for our own kernels."""
    device = rk.Device("hip:0")
    function = rk.Module.load_data(SOFTMAX, device).get_function("slots")
    with pytest.raises(ArgumentError, match=words):
        arguments(device.alloc(64), **{name: value}).pack(function)


def test_omitted_last_pad_still_fits() -> None:
    """Files that leave the last slot's padding out of their size are the same layout."""
    kernel = codeobject.read(samples.hand_written(note(TopKSoftmaxArgs, 116))).kernels["slots"]
    assert TopKSoftmaxArgs.fits(kernel)


@pytest.mark.parametrize("version", [5, 6])
def test_hidden_arguments_are_no_part_of_a_layout(version: int) -> None:
    """A compiled kernel that asks for the block's size has more behind its own arguments, which the launch fills."""

    @define(kw_only=True, eq=False)
    class CountArgs(KernelArgs):
        packing = Packing.NATURAL
        out: Any = pointer(dtypes.uint32, out=True)
        first: int = scalar(dtypes.uint32)

    source = """KERNEL void count(unsigned *out, unsigned first) {
        const unsigned short *size = (const unsigned short *)__builtin_amdgcn_implicitarg_ptr() + 6;
        out[0] = first + *size;
    }"""
    image = samples.compile_hip(source, version=version)
    kernel = codeobject.read(image).kernels["count"]
    assert any(argument.is_hidden for argument in kernel.arguments)
    assert CountArgs.mismatch(kernel) is None
    device = rk.Device("emulator:gfx942")
    function, out = rk.Module.load_data(image, device).get_function("count"), rk.zeros((1,), rk.uint32, device=device)
    function.launch_packed(CountArgs(out=out, first=1000).pack(function), grid=1, block=64)
    assert out.numpy()[0] == 1064


def test_padded_m() -> None:
    """M is rounded up to 16, 32, 64 or 128 by size, then to a power of two."""
    assert [padded_m(m, 1, 0) for m in (1, 16, 17, 256, 257, 1025, 4097)] == [16, 16, 32, 256, 288, 1088, 4224]
    assert [padded_m(m, 1, 1) for m in (1, 3, 64, 65, 9000)] == [1, 4, 64, 128, 16384]
    assert padded_m(9000, 5000, 1) == 8192


TUNED = """gfx,cu_num,M,N,K,kernelId,splitK,us,kernelName
gfx942,304,16,512,1024,0,0,9.5,slow
gfx942,304,16,512,1024,1,0,3.5,fast
gfx942,304,64,512,1024,1,0,4.0,padded
gfx942,80,32,512,1024,1,0,5.0,small_chip
gfx942,304,128,512,1024,1,0,-1,invalid
gfx942,20,24,512,1024,1,0,5.0,far
gfx942,256,24,512,1024,1,0,5.0,near
"""


def test_tuned_lookup_says_its_step(tmp_path: Path) -> None:
    """Exact, then M padded, then another chip of the target; the fastest of several rows; no file is written."""
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text(TUNED)
    second.write_text("cu_num,M,N,K,us,kernelName\n304,16,512,1024,3.5,later\n304,128,512,1024,7,valid\n")
    table = TunedTable.read([first, second])
    cases = {
        (16, 304): ("fast", "tuned, exact shape"),
        (10, 304): ("fast", "tuned, M padded from 10 to 16"),
        (50, 304): ("padded", "tuned, M padded from 50 to 64"),
        (128, 304): ("valid", "tuned, exact shape"),
        (24, 304): ("near", "tuned, exact shape, tuned for 256 compute units of gfx942"),
        (24, 38): ("far", "tuned, exact shape, tuned for 20 compute units of gfx942"),
        (32, 304): ("small_chip", "tuned, exact shape, tuned for 80 compute units of gfx942"),
    }
    for (m, units), (kernel, step) in cases.items():
        found = table.find("gfx942", units, M=m, N=512, K=1024)
        assert found is not None
        assert (found.row.kernel, found.step) == (kernel, step)
    exact = table.find("gfx942", 304, M=16, N=512, K=1024)
    assert exact is not None
    assert (exact.row.splits, exact.row.microseconds) == (0, 3.5)
    assert table.find("gfx942", 304, M=16, N=513, K=1024) is None
    assert table.find("gfx950", 256, M=16, N=512, K=1024) is None
    assert first.read_text() == TUNED
    with pytest.raises(PackageError, match="no column K among its 4"):
        (tmp_path / "c.csv").write_text("cu_num,M,N,kernelName\n")
        TunedTable.read([tmp_path / "c.csv"])


def test_tuned_rows_of_other_variants_hide_none(tmp_path: Path) -> None:
    """Dtypes, library and layout are part of a row's key: a faster row of another variant stands beside it."""
    path = tmp_path / "variants.csv"
    path.write_text(
        "gfx,cu_num,M,N,K,dtype,outdtype,libtype,us,kernelName\n"
        "gfx950,256,16,512,64,bf16,bf16,asm,2,halves\n"
        "gfx950,256,16,512,64,bf16,f32,asm,4,singles\n"
        "gfx950,256,16,512,64,bf16,f32,ck,1,other_library\n"
        "gfx950,256,16,512,64,bf16,f32,asm,3,faster\n"
    )
    table = TunedTable.read([path])
    assert [row.kernel for row in table.rows()] == ["halves", "faster", "other_library"]

    def found(**variant: str) -> str | None:
        choice = table.find("gfx950", 256, variant, M=16, N=512, K=64)
        return None if choice is None else choice.row.kernel

    assert found() == "other_library"
    assert found(libtype="asm") == "halves"
    assert found(libtype="asm", outdtype="f32") == "faster"
    assert found(libtype="asm", outdtype="f16") is None
    assert found(bpreshuffle="False", libtype="ck") == "other_library"


def test_splits_of_k() -> None:
    """The fewest rounds, then the fewest idle units; no more tiles than semaphores."""
    i8 = KernelRow("k", "k.co", {"splitK": 1, "tile_m": 64, "tile_n": 128}, 1)
    whole = {"m": 64, "n": 1280, "k": 128 * 64}
    assert [i8_splits(i8, whole, units) for units in (10, 20, 15, 40)] == [1, 2, 1, 4]
    assert i8_splits(KernelRow("k", "k.co", {"splitK": 0, "tile_m": 64, "tile_n": 128}, 1), whole, 20) == 1
    (rule,) = (rule for rule in KINDS["bf16gemm"].rules if rule.name == "semaphores")
    bf16 = KernelRow("k", "k.co", {"splitK": 1, "tileM": 32, "tileN": 64}, 1)
    assert rule.test(bf16, {"m": 32 * 32, "n": 64 * 32}) is None
    assert rule.test(bf16, {"m": 32 * 32 + 1, "n": 64 * 32}) == "1056 tiles, a split kernel has 1024 semaphores"
