"""What a decoded instruction is: name, operands, modifiers, immediates. Plain values, the same for every target."""

from __future__ import annotations

from typing import Final, Literal

from attrs import define, frozen

Kind = Literal["s", "v", "vl", "vh", "a", "int", "float", "literal", "special", "off"]

VCC: Final = 106
M0: Final = 124
NULL: Final = 125
EXEC: Final = 126


@frozen
class Operand:
    """One operand. `count` is its size in dwords (1 also for 16-bit and 8-bit operands).

    kind     value
    s        index into the scalar file of 128 dwords. VCC is 106, M0 124, null 125, EXEC 126 on every target
             (gfx11 and later swap M0 and null in their encoding; the decoder undoes it)
    v, a     index of the first vector or accumulation register
    vl, vh   low or high 16 bits of that vector register (targets with 16-bit registers)
    int      a signed integer, sign-extended to the operand's size: inline constant or SOPK immediate
    float    the inline constant's code 240..248; its bits depend on the operand's type: `float_bits`
    literal  the 32 bits that follow the instruction (the high word of an f64 operand)
    special  code of a read-only scalar source: 235..239 apertures, 251 VCCZ, 252 EXECZ, 253 SCC, 254 LDS direct
    off      absent address operand
    """

    kind: Kind
    value: int
    count: int = 1


OFF: Final = Operand("off", 0, 0)


@frozen
class Dpp:
    """Lane movement of source 0. `lanes` holds the eight DPP8 selectors, else `ctrl` is the 9-bit DPP16 control."""

    ctrl: int = 0
    row_mask: int = 0xF
    bank_mask: int = 0xF
    bound_ctrl: bool = False  # True: a lane without source reads 0; False: the lane is not written
    fi: bool = False  # also fetch from inactive lanes
    lanes: tuple[int, ...] = ()


@frozen
class Sdwa:
    """Sub-dword selection. Selectors: 0..3 byte, 4..5 word, 6 dword; `dst_unused` 0 pads, 1 extends, 2 preserves."""

    dst_sel: int = 6
    dst_unused: int = 0
    src_sel: tuple[int, int] = (6, 6)
    sext: int = 0  # bit per source


@frozen
class Mods:
    """What changes the shape of the operation. Masks have bit n for source n; op_sel bit 3 is the destination."""

    neg: int = 0  # VOP3P: of the low half
    abs: int = 0
    clamp: bool = False
    omod: int = 0  # 1: times 2, 2: times 4, 3: half
    op_sel: int = 0
    op_sel_hi: int = 0
    neg_hi: int = 0
    dpp: Dpp | None = None
    sdwa: Sdwa | None = None
    cbsz: int = 0  # MFMA broadcast
    abid: int = 0
    blgp: int = 0
    cache: int = 0  # raw bits: gfx9/10/11 1 glc 2 slc 4 dlc; gfx940 1 sc0 2 nt 4 sc1; gfx12 th | scope << 3
    offen: bool = False
    idxen: bool = False
    lds: bool = False  # memory to LDS
    gds: bool = False
    tfe: bool = False
    format: int = 0  # of typed buffer access
    # gfx9: M0 is added to the vector registers of sources (bits 0 to 2) and destination (bit 3); bit 4: MODE may say to
    # skip the instruction
    gpr_index: int = 0
    by_mode: bool = False  # the instruction asks MODE when it runs; the translator says so where that matters


PLAIN: Final = Mods()
SKIPPABLE: Final = 16  # of gpr_index


@define(eq=False)
class Inst:
    """One instruction at byte offset `pc` of the code.

    `name` is LLVM's mnemonic of that target without _e32, _e64, _sdwa, _dpp. Registers that an encoding implies
    and the assembler writes out (VCC of v_cndmask or v_cmp) are in `dst` and `src`; SCC, EXEC and a destination
    that is also read are the meaning's business.

    Memory operands have fixed places, OFF where absent:
    SMEM   src = base, soffset, data?           dst = result?
    DS     src = address, data0?, data1?        dst = result?
    FLAT, GLOBAL, SCRATCH  src = vaddr, saddr, data?    dst = result?
    MUBUF, MTBUF           src = vaddr, resource, soffset, data?   dst = result?
    An atomic that returns has a dst. Loads to LDS have neither data nor dst.

    `imm` is the signed simm16 of SOPK and SOPP, or the signed byte offset of a memory access (DS: unsigned;
    two-address DS: unscaled element offset, `imm1` the second one).
    """

    pc: int
    size: int
    name: str
    encoding: str
    dst: tuple[Operand, ...] = ()
    src: tuple[Operand, ...] = ()
    mods: Mods = PLAIN
    imm: int = 0
    imm1: int = 0
    parts: tuple[Inst, ...] = ()  # the two halves of a VOPD pair

    @property
    def target(self) -> int:
        """Byte offset that a branch goes to."""
        return self.pc + 4 + 4 * self.imm


_FLOAT_BITS: Final[dict[int, tuple[int, int, int]]] = {
    240: (0x3800, 0x3F000000, 0x3FE0000000000000),
    241: (0xB800, 0xBF000000, 0xBFE0000000000000),
    242: (0x3C00, 0x3F800000, 0x3FF0000000000000),
    243: (0xBC00, 0xBF800000, 0xBFF0000000000000),
    244: (0x4000, 0x40000000, 0x4000000000000000),
    245: (0xC000, 0xC0000000, 0xC000000000000000),
    246: (0x4400, 0x40800000, 0x4010000000000000),
    247: (0xC400, 0xC0800000, 0xC010000000000000),
    248: (0x3118, 0x3E22F983, 0x3FC45F306DC9C882),
}
_WIDTH_PLACE: Final = {16: 0, 32: 1, 64: 2}


def float_bits(code: int, width: int) -> int:
    """Bits of inline float constant `code` (240..248) as a value of `width` 16, 32 or 64 bits."""
    return _FLOAT_BITS[code][_WIDTH_PLACE[width]]
