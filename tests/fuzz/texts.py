"""Damaged PTX texts and CSV tables: read, checked, and chosen from."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any, ClassVar, Final

from attrs import define, field

from rocmkern import codeobject
from rocmkern.packages import KINDS, KernelPackage, KernelTable, check
from tests.fuzz.draws import Draws
from tests.fuzz.elf import code_object
from tests.fuzz.kind import Kind
from tests.fuzz.sources import kernels

PTX: Final = b"""//
.version 8.0
.target sm_80
.address_size 64
.visible .entry first(.param .u64 .ptr .global .align 4 first_0, .param .f32 first_1[4])
.maxntid 256, 1, 1
{
    griddepcontrol.wait;
    ret;
}
.visible .entry second(.param .align 8 .b8 second_0[24], .param .u16 second_1) .reqntid 64 { ret; }
"""
TABLE: Final = b"""# kernels
knl_name,co_name,subm,num_experts,topk,dtype,tile_m,tile_n,splitK
first,a.co,4,128,4,fp32,16,64,1
second,b.co,12,128,4,bf16,32,64,0   ; fits no more
"third",c.co,4,256,,fp32,16,128,1
first,a.co,8,64,2,fp32,16,64,2
"""
PTX_WORDS: Final = (
    b".entry ", b".param ", b".align ", b".b8 ", b".u64 ", b".ptr ", b"(", b")", b"{", b"}", b"[", b"]", b",", b";",
    b"//", b"/*", b".maxntid ", b".reqntid ", b"0", b"-1", b"99999999999999999999", b"\xff", b"\0", b"\n",
    b".target sm_", b".f128 ", b".b0 ", b"[" + b"9" * 5000 + b"]", b".entry x(" * 2000, b".pred ",
)  # fmt: skip
TABLE_WORDS: Final = (
    b",", b"\n", b'"', b"#", b"/*", b"*/", b"//", b";", b"..", b"../", b"/", b"**", b"*", b"[", b"~", b"\0", b"\r",
    b"0", b"-1", b"nan", b"inf", b"1e400", b"9" * 5000, b"x" * 200_000, b"a/" * 3000, b"\xff", b"\xef\xbb\xbf", b"None",
    b"knl_name", b"co_name", b"/etc/passwd", b"\xe2\x80\xae", b"\xd9\xa3", b"1_000",
)  # fmt: skip
PROBLEM: Final = {
    "topksoftmax": {"experts": 128, "topk": 4, "dtype": "fp32", "tokens": 64},
}
UNITS: Final = 304


def reworded(draws: Draws, text: bytes, words: tuple[bytes, ...]) -> bytes:
    """The text with words put in or over, lines doubled or left out."""
    for _ in draws.few():
        at = draws.randrange(len(text) + 1)
        kind = draws.randrange(6)
        if kind < 2:
            text = text[:at] + draws.choice(words) + text[at:]
        elif kind < 4:
            text = text[:at] + draws.choice(words) + text[at + draws.randrange(1, 8) :]
        elif kind == 4:
            lines = text.split(b"\n")
            lines.insert(draws.randrange(len(lines) + 1), draws.choice(lines))
            text = b"\n".join(lines)
        else:
            text = draws.edit(text)
    return text


@define(eq=False)
class Texts(Kind):
    """PTX texts at even seeds, tables of packages at odd ones."""

    name: ClassVar[str] = "text"
    batch: ClassVar[int] = 128
    _folder: Path | None = field(default=None, init=False)

    def make(self, seed: int) -> bytes:
        draws = Draws(self.name, seed)
        return reworded(draws, TABLE, TABLE_WORDS) if seed % 2 else reworded(draws, PTX, PTX_WORDS)

    def prepare(self) -> None:
        root = tempfile.mkdtemp(prefix="fuzz-package-")
        weakref.finalize(self, shutil.rmtree, root, ignore_errors=True)
        self._folder = Path(root, "hsa", self.target, "topksoftmax")
        self._folder.mkdir(parents=True)
        self._folder.joinpath("a.co").write_bytes(code_object(kernels(self.target)[:1], self.target).data)

    def run(self, data: bytes, seed: int) -> str:
        if seed % 2 == 0:
            return f"{min(len(codeobject.read(data).kernels), 3)} kernels"
        assert self._folder is not None
        self._folder.joinpath("table.csv").write_bytes(data)
        package = KernelPackage.open(self._folder.parent.parent)
        report = check(package)
        chosen: Any = KernelTable.of(package, KINDS["topksoftmax"], self.target)
        chosen.select(UNITS, **{key: PROBLEM["topksoftmax"].get(key, 4) for key in chosen.kind.needs})
        return f"chosen, {min(len(report.findings), 3)} faults told"
