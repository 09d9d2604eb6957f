"""Instructions as assembly text, in LLVM's spelling."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from rocmkern.emulator.isa.model import EXEC, M0, NULL, VCC, Dpp, Inst, Mods, Operand, float_bits
from rocmkern.emulator.isa.simm import simm_text
from rocmkern.emulator.isa.table import CDNA, Row, Slot, tables
from rocmkern.emulator.isa.vector import is_mix

FLOATS: Final = {
    240: "0.5",
    241: "-0.5",
    242: "1.0",
    243: "-1.0",
    244: "2.0",
    245: "-2.0",
    246: "4.0",
    247: "-4.0",
    248: "0.15915494",
}
SPECIAL: Final = {
    230: "src_flat_scratch_base_lo",
    231: "src_flat_scratch_base_hi",
    235: "src_shared_base",
    236: "src_shared_limit",
    237: "src_private_base",
    238: "src_private_limit",
    239: "src_pops_exiting_wave_id",
    251: "src_vccz",
    252: "src_execz",
    253: "src_scc",
    254: "src_lds_direct",
}
PAIRS: Final = {VCC: "vcc", EXEC: "exec"}
GFX9_PAIRS: Final = {102: "flat_scratch", 104: "xnack_mask"}
FIRST_TTMP: Final = 108


@cache
def _rows(isa: str) -> dict[tuple[str, str], Row]:
    return {(encoding, row.name): row for encoding, rows in tables(isa).items() for row in rows if row is not None}


def instruction_text(isa: str, inst: Inst) -> str:
    """`inst`, decoded for `isa`, as a line of assembly."""
    if inst.parts:
        return " :: ".join(instruction_text(isa, part) for part in inst.parts)
    rows = _rows(isa)
    row = rows[inst.encoding, inst.name]
    if inst.encoding == "VOPD":
        operands = [*inst.dst, *(o for o, slot in zip(inst.src, row.src, strict=True) if slot.kind != "m")]
        return f"v_dual_{inst.name[2:]} {', '.join(operand_text(isa, o, Slot('', 1)) for o in operands)}"
    printer = _PRINTERS.get(inst.encoding, _alu)
    shown, modifiers = printer(isa, inst, row)
    text = inst.name + _suffix(isa, inst, row, ("VOP3", inst.name) in rows)
    if shown:
        text += " " + ", ".join(shown)
    return " ".join([text, *modifiers])


def _suffix(isa: str, inst: Inst, row: Row, has_long_form: bool) -> str:
    if inst.mods.sdwa:
        return "_sdwa"
    if inst.mods.dpp:
        in_short = "" if inst.encoding == "VOPC" and isa != "gfx10" else "_dpp"
        return "_e64_dpp" if inst.encoding in ("VOP3", "VOP3P") else in_short
    if not inst.dst and not inst.src:
        return ""
    if inst.encoding == "VOP3":
        return "_e64" if row.short else ""
    return "_e32" if has_long_form and inst.encoding in ("VOP1", "VOP2", "VOPC") else ""


def register_text(isa: str, operand: Operand) -> str:
    """A register of the scalar, vector or accumulation file."""
    kind: str = operand.kind
    index, count = operand.value, operand.count
    if kind in ("vl", "vh"):
        return f"v{index}.{kind[1]}"
    if kind == "s":
        named = _named_scalar(isa, index, count)
        if named:
            return named
        if index >= FIRST_TTMP:
            kind, index = "ttmp", index - FIRST_TTMP
    return f"{kind}{index}" if count == 1 else f"{kind}[{index}:{index + count - 1}]"


def _named_scalar(isa: str, index: int, count: int) -> str:
    if index in (M0, NULL):
        return "m0" if index == M0 else "null"
    pairs = {**PAIRS, **GFX9_PAIRS} if isa in CDNA else PAIRS
    name = pairs.get(index & ~1, "")
    return name and (name if count == 2 else f"{name}_{'hi' if index & 1 else 'lo'}")


def special_text(code: int) -> str:
    """A source that is no register."""
    return SPECIAL.get(code, f"src_{code}")


def operand_text(isa: str, operand: Operand, slot: Slot) -> str:
    """Any operand; `slot` says how a constant is read."""
    kind, value = operand.kind, operand.value
    if kind == "int":
        return str(value)
    if kind == "literal":
        return f"0x{value & 0xFFFF if slot.kind in ('h', 'i') else value:x}"
    if kind == "float":
        if slot.kind == "i":
            return f"0x{float_bits(value, 16):x}"
        return "0.15915494309189532" if value == 248 and slot.count == 2 else FLOATS[value]
    if kind == "special":
        return special_text(value)
    return "off" if kind == "off" else register_text(isa, operand)


def _alu(isa: str, inst: Inst, row: Row) -> tuple[list[str], list[str]]:
    operands = [register_text(isa, operand) for operand in inst.dst[: len(row.dst)]]
    operands += [
        _modified(operand_text(isa, operand, slot), operand, inst, place)
        for place, (operand, slot) in enumerate(zip(inst.src, row.src, strict=True))
    ]
    return operands, _alu_modifiers(isa, inst, row)


def _modified(text: str, operand: Operand, inst: Inst, place: int) -> str:
    mods = inst.mods
    if mods.sdwa and mods.sdwa.sext >> place & 1:
        return f"sext({text})"
    if inst.encoding == "VOP3P" and not is_mix(inst.name):
        return text
    if mods.abs >> place & 1:
        text = f"|{text}|"
    if mods.neg >> place & 1:
        is_constant = operand.kind in ("int", "float", "literal") and not mods.abs >> place & 1
        text = f"neg({text})" if is_constant else f"-{text}"
    return text


def _alu_modifiers(isa: str, inst: Inst, row: Row) -> list[str]:
    mods = inst.mods
    found = []
    if inst.encoding == "VOP3P":
        return _packed_modifiers(isa, inst, row)
    if mods.sdwa:
        return _sdwa_modifiers(inst)
    if inst.encoding == "VOP3":
        if "bitop3" in inst.name:
            found += [f"bitop3:{inst.imm}"] if inst.imm else []
        op_sel = _shown_op_sel(inst)
        if isa == "gfx12" and inst.name.startswith(BYTE_SELECTING):
            low, high = (3, 2) if "_sr_" in inst.name else (0, 1)
            selected = (inst.mods.op_sel >> low & 1) << 1 | inst.mods.op_sel >> high & 1
            found += [f"byte_sel:{selected}"] if selected else []
        elif op_sel:
            found.append(f"op_sel:[{','.join(op_sel)}]")
    if mods.clamp:
        found.append("clamp")
    found += _omod(mods)
    if mods.dpp:
        found += _dpp_modifiers(isa, mods.dpp)
    return found


def _omod(mods: Mods) -> list[str]:
    return [("mul:2", "mul:4", "div:2")[mods.omod - 1]] if mods.omod else []


def _shown_op_sel(inst: Inst) -> list[str]:
    bits = [inst.mods.op_sel >> place & 1 or int(operand.kind == "vh") for place, operand in enumerate(inst.src)]
    high_dst = inst.mods.op_sel >> 3 & 1 or int(bool(inst.dst) and inst.dst[0].kind == "vh")
    return [str(bit) for bit in (*bits, high_dst)] if any(bits) or high_dst else []


def _packed_modifiers(isa: str, inst: Inst, row: Row) -> list[str]:
    mods = inst.mods
    count = len(inst.src)
    if inst.name.startswith(("v_mfma", "v_smfmac", "v_accvgpr")):
        named = (("cbsz", mods.cbsz), ("abid", mods.abid), ("blgp", mods.blgp))
        found = [f"{name}:{value}" for name, value in named if value]
        if "_scale_" in inst.name:
            chosen = [("op_sel", mods.op_sel)] if mods.op_sel else []
            chosen.append(("op_sel_hi", mods.op_sel_hi))
            found = [f"{name}:[{bits & 1},{bits >> 1},0]" for name, bits in chosen] + found
        if mods.blgp and isa != "gfx90a" and "_f64_" in inst.name:
            found[-1] = f"neg:[{','.join(str(mods.blgp >> place & 1) for place in range(3))}]"
        return found
    found = []
    mix = is_mix(inst.name)
    default_hi = 0 if mix else (1 << count) - 1
    shown_hi = mods.op_sel_hi & ((1 << count) - 1)
    if inst.name.startswith(("v_wmma", "v_swmmac")) and not inst.name.startswith(HALF_RESULT_WMMA):
        shown_hi = default_hi
    for name, bits, default in (
        ("op_sel", mods.op_sel, 0),
        ("op_sel_hi", shown_hi, default_hi),
        ("neg_lo", 0 if mix else mods.neg, 0),
        ("neg_hi", mods.neg_hi, 0),
    ):
        if bits != default:
            found.append(f"{name}:[{','.join(str(bits >> place & 1) for place in range(count))}]")
    if mods.clamp:
        found.append("clamp")
    if mods.dpp:
        found += _dpp_modifiers(isa, mods.dpp)
    return found


HALF_RESULT_WMMA: Final = ("v_wmma_f16", "v_wmma_bf16")
BYTE_SELECTING: Final = ("v_cvt_f32_fp8", "v_cvt_f32_bf8", "v_cvt_sr_fp8", "v_cvt_sr_bf8")
SELECTORS: Final = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD", "")
UNUSED: Final = ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "UNUSED_PAD")


def _sdwa_modifiers(inst: Inst) -> list[str]:
    sdwa = inst.mods.sdwa
    assert sdwa is not None
    found = ["clamp"] if inst.mods.clamp else []
    found += _omod(inst.mods)
    if inst.encoding != "VOPC":
        found += [f"dst_sel:{SELECTORS[sdwa.dst_sel]}", f"dst_unused:{UNUSED[sdwa.dst_unused]}"]
    found.append(f"src0_sel:{SELECTORS[sdwa.src_sel[0]]}")
    if inst.encoding != "VOP1":
        found.append(f"src1_sel:{SELECTORS[sdwa.src_sel[1]]}")
    return found


DPP_ROWS: Final = {0x100: "row_shl", 0x110: "row_shr", 0x120: "row_ror", 0x150: "row_newbcast", 0x160: "row_xmask"}
DPP_NAMED: Final = {
    0x130: "wave_shl:1",
    0x134: "wave_rol:1",
    0x138: "wave_shr:1",
    0x13C: "wave_ror:1",
    0x140: "row_mirror",
    0x141: "row_half_mirror",
    0x142: "row_bcast:15",
    0x143: "row_bcast:31",
}


def _dpp_modifiers(isa: str, dpp: Dpp) -> list[str]:
    if dpp.lanes:
        return [f"dpp8:[{','.join(map(str, dpp.lanes))}]"] + (["fi:1"] if dpp.fi else [])
    found = [_dpp_control(isa, dpp.ctrl), f"row_mask:0x{dpp.row_mask:x}", f"bank_mask:0x{dpp.bank_mask:x}"]
    if dpp.bound_ctrl:
        found.append("bound_ctrl:1")
    return found + (["fi:1"] if dpp.fi else [])


def _dpp_control(isa: str, ctrl: int) -> str:
    if ctrl < 0x100:
        return f"quad_perm:[{','.join(str(ctrl >> shift & 3) for shift in (0, 2, 4, 6))}]"
    if ctrl in DPP_NAMED:
        return DPP_NAMED[ctrl]
    name = DPP_ROWS.get(ctrl & ~15, "dpp_unused")
    if name == "row_newbcast" and isa not in CDNA:
        name = "row_share"
    return f"{name}:{ctrl & 15}"


def _sopk(isa: str, inst: Inst, row: Row) -> tuple[list[str], list[str]]:
    operands = [register_text(isa, operand) for operand in inst.dst]
    sources = iter(inst.src)
    for slot in row.src:
        if slot.kind in ("w", "b"):
            operands.append(simm_text(isa, inst, slot.kind))
        elif slot.kind == "k":
            next(sources)
            operands.append(simm_text(isa, inst, "k"))
        else:
            operands.append(operand_text(isa, next(sources), slot))
    return operands, []


def _scalar(isa: str, inst: Inst, row: Row) -> tuple[list[str], list[str]]:
    operands = [register_text(isa, operand) for operand in inst.dst]
    operands += [operand_text(isa, operand, slot) for operand, slot in zip(inst.src, row.src, strict=False)]
    last = row.src[-1].kind if row.src else ""
    if last in ("q", "n"):
        operands.append(simm_text(isa, inst, last))
    return operands, []


def _sopp(isa: str, inst: Inst, row: Row) -> tuple[list[str], list[str]]:
    is_silent = not row.src or (inst.name == "s_endpgm" and not inst.imm)
    return [] if is_silent else [simm_text(isa, inst, row.src[0].kind)], []


def _hex(value: int) -> str:
    return f"-0x{-value:x}" if value < 0 else f"0x{value:x}"


def _smem(isa: str, inst: Inst, row: Row) -> tuple[list[str], list[str]]:
    operands = [register_text(isa, operand) for operand in (inst.src[2:] or inst.dst)]
    modifiers: list[str] = []
    if inst.src:
        base, offset = inst.src[:2]
        if base.kind != "off":
            operands.append(register_text(isa, base))
        if row.flags == "p" and "prefetch" in row.name:
            operands += [_hex(inst.imm), "null" if offset.kind == "off" else register_text(isa, offset), str(inst.imm1)]
        elif offset.kind == "off":
            operands.append("null" if not inst.imm and isa in ("gfx10", "gfx11") else _hex(inst.imm))
        else:
            operands.append(operand_text(isa, offset, Slot("", 1)))
            if inst.imm or isa not in CDNA:
                modifiers.append(f"offset:{_hex(inst.imm)}")
        if row.flags == "p" and "probe" in row.name:
            operands.insert(0, str(inst.imm1) if inst.imm1 < 65 else _hex(inst.imm1))
    return operands, modifiers + _cache_modifiers(isa, inst)


def _offset(inst: Inst) -> list[str]:
    return [f"offset:{inst.imm}"] if inst.imm else []


def _ds(isa: str, inst: Inst, row: Row) -> tuple[list[str], list[str]]:
    operands = [operand_text(isa, o, Slot("", 1)) for o in (*inst.dst, *inst.src) if o.kind != "off"]
    if row.flags == "2":
        modifiers = [f"{name}:{value}" for name, value in (("offset0", inst.imm), ("offset1", inst.imm1)) if value]
    else:
        modifiers = _offset(inst)
    return operands, modifiers + (["gds"] if inst.mods.gds else [])


def _flat(isa: str, inst: Inst, row: Row) -> tuple[list[str], list[str]]:
    if not inst.src:
        return [], _cache_modifiers(isa, inst)
    vaddr, saddr, *data = inst.src
    operands = [register_text(isa, operand) for operand in inst.dst]
    if "n" not in row.flags:
        operands.append(operand_text(isa, vaddr, Slot("", 1)))
    operands += [register_text(isa, operand) for operand in data]
    lds = ["lds"] if inst.mods.lds else []
    if inst.encoding != "FLAT":
        operands.append(operand_text(isa, saddr, Slot("", 1)))
    return operands, _offset(inst) + _cache_modifiers(isa, inst) + lds


def _buffer(isa: str, inst: Inst, row: Row) -> tuple[list[str], list[str]]:
    if not inst.src:
        return [], _cache_modifiers(isa, inst)
    vaddr, resource, soffset, *data = inst.src
    data_first = data or list(inst.dst)
    operands = [register_text(isa, operand) for operand in data_first]
    if "store_lds" not in inst.name:
        operands.append(operand_text(isa, vaddr, Slot("", 1)))
    operands += [register_text(isa, resource), operand_text(isa, soffset, Slot("", 1))]
    mods = inst.mods
    flags = [name for name, is_set in (("idxen", mods.idxen), ("offen", mods.offen)) if is_set]
    modifiers = [f"format:{mods.format}"] if inst.encoding == "MTBUF" else []
    modifiers += flags + _offset(inst)
    late = [name for name, is_set in (("lds", mods.lds), ("tfe", mods.tfe)) if is_set]
    cache_bits = _cache_modifiers(isa, inst)
    modifiers += late + cache_bits if "store_lds" in inst.name else cache_bits + late
    return operands, modifiers


def _cache_modifiers(isa: str, inst: Inst) -> list[str]:
    bits = inst.mods.cache
    if isa == "gfx12":
        named = (("th", bits & 7), ("scope", bits >> 3))
        return [f"{name}:{value}" for name, value in named if value]
    if isa in ("gfx940", "gfx950"):
        names = ("sc0", "nt", "sc1") if inst.encoding != "SMEM" else ("glc", "", "")
    elif isa == "gfx90a":
        names = ("glc", "slc", "scc")
    else:
        names = ("glc", "slc", "dlc")
    return [name for place, name in enumerate(names) if bits >> place & 1]


_PRINTERS: Final[dict[str, Callable[[str, Inst, Row], tuple[list[str], list[str]]]]] = {
    "SOP1": _scalar,
    "SOP2": _scalar,
    "SOPC": _scalar,
    "SOPK": _sopk,
    "SOPP": _sopp,
    "SMEM": _smem,
    "DS": _ds,
    "FLAT": _flat,
    "GLOBAL": _flat,
    "SCRATCH": _flat,
    "MUBUF": _buffer,
    "MTBUF": _buffer,
}
