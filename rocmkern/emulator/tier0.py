"""Tier 0: threaded code. One small native function per shape of instruction, shared by all kernels.

A kernel is a chain of operations (`layout.OP_*`): the function and the fields that it leaves open, that is where the
operands' registers lie in the wave, constants, offsets. Each function does its work on the wave in memory and goes on
to the next operation with a tail call, so a cold kernel costs no compilation where its shapes are known.
"""

from __future__ import annotations

from functools import cache
from hashlib import blake2s
from typing import Final

from attrs import define, field, frozen

from rocmkern.emulator import layout as at
from rocmkern.emulator.access import AccessFunction, emit_atomic
from rocmkern.emulator.addresses import SPACE_OF, Addresses, Space, scalar_access
from rocmkern.emulator.compiler import QUICK, THOROUGH
from rocmkern.emulator.formats import Format, instruction_word, resource_bits
from rocmkern.emulator.ir import Value, Writer, within
from rocmkern.emulator.isa.model import NULL, PLAIN, SKIPPABLE, Inst, Mods, Operand
from rocmkern.emulator.lds_loads import HAS_MET, awaits_loads, emit_landing, emit_load, emit_store, is_to_lds
from rocmkern.emulator.meaning.api import ROWS, Access, Context, Row
from rocmkern.emulator.mode import SKIPS_VECTORS
from rocmkern.emulator.observers.seam import LOAD, NOBODY, Accessed, Observers, Point, Watching, accessed, kind_of
from rocmkern.emulator.operands import (
    CONSTANTS,
    constant_bits,
    emit_dual,
    emit_scalar,
    emit_vector,
    implicit,
    mask_lanes,
)
from rocmkern.emulator.out_of_line import OutOfLine, StateRegisters
from rocmkern.emulator.registers import Place
from rocmkern.emulator.transposing import transposed
from rocmkern.emulator.typed_access import TypedAccessFunction
from rocmkern.emulator.wave import field as wave_field
from rocmkern.emulator.wave import place_of

STATIC_IMMEDIATES: Final = frozenset(
    {
        *(
            "ds_swizzle_b32",
            "ds_bpermute_b32",
            "ds_bpermute_fi_b32",
            "v_bitop3_b16",
            "v_bitop3_b32",
            "s_getreg_b32",
            "s_setreg_b32",
            "s_setreg_imm32_b32",
        ),
        *("s_round_mode", "s_denorm_mode"),
    }
)
READING_PC: Final = frozenset({"s_getpc_b64", "s_swappc_b64", "s_call_b64"})
VECTOR_KINDS: Final = [f"v{count}" for count in range(64)]
MEMORY: Final = frozenset({"SMEM", *SPACE_OF})
LOOPS: Final = frozenset({"state", "lanes"})
DIVISIONS: Final = "v_div_"
PARAMETERS: Final = "(ptr %w, ptr %op)"


def fields(row: Row, inst: Inst, isa: str, wave_size: int) -> list[int]:
    """The open fields of one instruction's operation, as unsigned numbers."""
    values = [place_of(operand, isa, wave_size) for operand in inst.dst]
    for i, operand in enumerate(inst.src):
        if operand.kind in CONSTANTS:
            values.append(constant_bits(operand, _type(row, inst, i)) & 0xFFFFFFFFFFFFFFFF)
        else:
            values.append(place_of(operand, isa, wave_size))
    return [*values, inst.imm & 0xFFFFFFFFFFFFFFFF, inst.imm1] if has_immediates(inst) else values


def _type(row: Row, inst: Inst, source: int) -> str:
    """That of a source operand."""
    explicit = row.explicit
    if inst.parts:
        rows = [ROWS[part.name] for part in inst.parts]
        explicit = tuple(t for r, part in zip(rows, inst.parts, strict=True) for t in r.explicit[: len(part.src)])
    return explicit[source] if source < len(explicit) else "b32"


def has_immediates(inst: Inst) -> bool:
    """Whether an operation has fields for them. What is no instruction counts in them."""
    return inst.encoding in MEMORY or not inst.encoding


def shape(inst: Inst, isa: str, wave_size: int) -> str:
    """What the function of an instruction depends on; equal for instructions that differ in open fields only."""
    operands = ",".join([_kind(o) for o in inst.dst]) + "=" + ",".join([_kind(o) for o in inst.src])
    text = f"{inst.name}|{inst.encoding}|{operands}|{isa}|{wave_size}"
    if inst.mods is not PLAIN:
        text += _modifiers(inst.mods)
    if inst.name in STATIC_IMMEDIATES:
        text += f"|imm {inst.imm}"
        if inst.name == "s_setreg_imm32_b32":
            text += f" {inst.src[0].value}"
    elif inst.name in READING_PC:
        text += f"|size {inst.size}"
    elif awaits_loads(inst, isa):
        text += "|loads"
    if inst.parts:
        text += "|" + "+".join([shape(part, isa, wave_size) for part in inst.parts])
    return text


def _kind(o: Operand) -> str:
    kind = o.kind
    if kind == "v":
        return VECTOR_KINDS[o.count]
    if kind == "s":
        return "null" if o.value == NULL else f"s{o.count}"
    if kind in CONSTANTS:
        return "k"
    return f"special{o.value}" if kind == "special" else f"{kind}{o.count}"


@cache
def _modifiers(mods: Mods) -> str:
    return "" if mods == PLAIN else f"|{mods}"


@cache
def symbol_of(text: str) -> str:
    return "op_" + blake2s(text.encode(), digest_size=10).hexdigest()


@frozen
class Handler:
    """Code of one operation function: LLVM IR and what it needs."""

    symbol: str
    text: str
    declarations: dict[str, str]
    accesses: dict[str, AccessFunction]
    supports: frozenset[str]
    globals: dict[str, str]


@define
class HandlerBuilder:
    """Emits the function for the shape of `inst`."""

    row: Row
    inst: Inst
    isa: str
    wave_size: int
    observers: Observers = NOBODY
    plain: bool = False  # a function that returns instead of going on: for calls from compiled code
    accesses: dict[str, AccessFunction] = field(factory=dict)

    @property
    def level(self) -> int:
        """How well to compile it: straight code is no faster for it; loops over lanes are, and vectors across branches.

        Level 0 of LLVM 22 ends the process on vectors of four-bit numbers, which transposing makes.
        """
        transposes = self.row.access is not None and self.row.access.transpose is not None
        has_flow = self.row.unit in LOOPS or self.inst.name.startswith(DIVISIONS)
        return THOROUGH if self.plain or transposes or has_flow else QUICK

    @property
    def operation_bytes(self) -> int:
        inst = self.inst
        return at.OP_FIELDS + 8 * (len(inst.dst) + len(inst.src) + 2 * has_immediates(inst))

    def build(self, symbol: str) -> Handler:
        w = Writer()
        regs = OutOfLine(w, self.inst, self.wave_size, self.isa)
        if self.inst.mods.gpr_index & SKIPPABLE:
            skips = w.load(wave_field(w, at.WAVE_MODE), "i32", 0, 4) & 1 << SKIPS_VECTORS
            with w.when(skips.ne(0)):
                self._next(w)
        if self.row.unit != "wait":  # it meets the other waves first
            self._tell(regs)
        getattr(self, f"_{self.row.unit}")(w, regs)
        body = "\n".join([*w.prologue, *w.lines])
        result = "void" if self.plain else "i32"
        text = f"define {result} @{symbol}{PARAMETERS} #0 {{\n{body}\n}}\n"
        return Handler(symbol, text, w.declarations, self.accesses, frozenset(w.supports), w.globals)

    def _tell(self, regs: OutOfLine) -> None:
        if not self.plain:  # compiled code tells of what it calls
            for i, observer in self.observers.watching("instruction", self.row, self.inst):
                observer.instruction(self._point(regs, i), self.row, self.inst)

    def _point(self, regs: OutOfLine, number: int) -> Point:
        """This instruction, for an observer."""
        lanes = regs.exec_mask()
        assert lanes is not None
        return Point(regs.writer, number, self.wave_size, lanes, regs.operation)

    @property
    def _watching(self) -> Watching:
        """Who wants to know of its accesses."""
        return self.observers.watching("access", self.row, self.inst)

    def memory_function(
        self, row: Row, access: Access, space: Space, returns: bool, by_mode: str = ""
    ) -> AccessFunction:
        return AccessFunction(row, access, space, self.wave_size, returns, self._watching, by_mode)

    # Going on.

    def _go(self, w: Writer, operation: Value) -> None:
        handler = w.load(operation, "ptr", 0, 8)
        result = w.emit(f"musttail call i32 {handler.text}(ptr %w, ptr {operation.text})", "i32")
        w.line(f"ret i32 {result.text}")

    def _next(self, w: Writer) -> None:
        if self.plain:
            w.line("ret void")
            return
        self._go(w, w.at(Value(w, "ptr", 0, "%op"), self.operation_bytes))

    def _give_up(self, w: Writer) -> None:
        """After a fault: the launch stops."""
        w.line("ret void" if self.plain else f"ret i32 {at.END}")

    def _pause(self, w: Writer, following: Value, status: int) -> None:
        w.store(following, wave_field(w, at.WAVE_NEXT), 8)
        w.line(f"ret i32 {status}")

    def _spend_fuel(self, w: Writer, following: Value) -> None:
        """Every branch costs fuel, so that no loop holds the thread for ever."""
        spot = wave_field(w, at.WAVE_FUEL)
        fuel = w.load(spot, "i64", 0, 8) - 1
        w.store(fuel, spot, 8)
        with w.when(fuel.compare("slt", 0)):
            self._pause(w, following, at.YIELD)

    # Units.

    def _valu(self, w: Writer, regs: OutOfLine) -> None:
        emit_vector(self.row, self.inst, regs, self.isa)
        self._next(w)

    def _dual(self, w: Writer, regs: OutOfLine) -> None:
        emit_dual(self.inst, regs, self.isa)
        self._next(w)

    def _lanes(self, w: Writer, regs: OutOfLine) -> None:
        regs.lanes = self.wave_size
        self._valu(w, regs)

    def _salu(self, w: Writer, regs: OutOfLine) -> None:
        jump = emit_scalar(self.row, self.inst, regs, self.isa)
        if jump is None:
            self._next(w)
        else:
            self._jump(w, jump)

    def _jump(self, w: Writer, address: Value) -> None:
        """Go to a code address, translated or not."""
        launch = w.load(wave_field(w, at.WAVE_LAUNCH), "ptr", 0, 8)
        offset = address - w.load(w.at(launch, at.LAUNCH_CODE), "i64", 0, 8)
        w.store(address, wave_field(w, at.WAVE_PC), 8)
        with w.when(offset.compare("uge", w.load(w.at(launch, at.LAUNCH_CODE_SIZE), "i64", 0, 8))):
            w.line(f"ret i32 {at.NEEDS_CODE}")
        table = w.load(w.at(launch, at.LAUNCH_MAP), "ptr", 0, 8)
        operation = w.load(w.at(table, offset.lshr(2).shl(3)), "ptr", 0, 8)
        with w.when(w.emit(f"icmp eq ptr {operation.text}, null", "i1")):
            w.line(f"ret i32 {at.NEEDS_CODE}")
        self._spend_fuel(w, operation)
        self._go(w, operation)

    def _nop(self, w: Writer, regs: OutOfLine) -> None:
        self._next(w)

    def _sleep(self, w: Writer, regs: OutOfLine) -> None:
        """A quarter of the time slice stays."""
        spot = wave_field(w, at.WAVE_FUEL)
        w.store(w.load(spot, "i64", 0, 8).lshr(2), spot, 8)
        self._next(w)

    def _count(self, w: Writer, regs: OutOfLine) -> None:
        """Count that a block begins, and whether with lanes off: what is worth compiling."""
        op = regs.operation()
        off = regs.special("exec", f"i{self.wave_size}").ne(-1).zext("i64")
        for offset, step in ((at.OP_COUNT, 1), (at.OP_PARTIAL, off)):
            spot = w.at(op, offset)
            w.store(w.load(spot, "i64", 0, 8) + step, spot, 8)
        for i, observer in self.observers.watching("block", self.row, self.inst):
            observer.block(self._point(regs, i))
        self._next(w)

    def _untranslated(self, w: Writer, regs: OutOfLine) -> None:
        w.store(regs.pc(), wave_field(w, at.WAVE_PC), 8)
        w.line(f"ret i32 {at.NEEDS_CODE}")

    def _wait(self, w: Writer, regs: OutOfLine) -> None:
        """Loads to LDS land, all that are under way."""
        if awaits_loads(self.inst, self.isa):
            spot = wave_field(w, at.WAVE_LANDING)
            landing = w.load(spot, "i64", 0, 8)
            with w.when(landing.ne(0) & landing.compare("ult", HAS_MET)):
                w.store(landing | HAS_MET, spot, 8)
                self._pause(w, regs.operation(), at.MEET)
            self._tell(regs)
            with w.when(landing.ne(0)):
                emit_landing(self, w, self.wave_size)
        else:
            self._tell(regs)
        self._next(w)

    def _end(self, w: Writer, regs: OutOfLine) -> None:
        with w.when(w.load(wave_field(w, at.WAVE_LANDING), "i64", 0, 8).ne(0)):
            emit_landing(self, w, self.wave_size)
        w.line(f"ret i32 {at.END}")

    def _barrier(self, w: Writer, regs: OutOfLine) -> None:
        self._pause(w, w.at(regs.operation(), self.operation_bytes), at.BARRIER)

    def _branch(self, w: Writer, regs: OutOfLine) -> None:
        op = regs.operation()
        following = w.load(w.at(op, at.OP_TARGET), "ptr", 0, 8)
        if self.row.emit is not None:
            context = Context(w, 0, self.wave_size, self.isa)
            taken = self.row.emit(context, *(implicit(regs, t) for t in self.row.sources))
            assert isinstance(taken, Value)
            following = taken.select(following, w.at(op, self.operation_bytes))
        else:
            taken = w.constant("i1", 1)
        for i, observer in self.observers.watching("branch", self.row, self.inst):
            observer.branch(self._point(regs, i), taken)
        self._spend_fuel(w, following)
        self._go(w, following)

    def _state(self, w: Writer, regs: OutOfLine) -> None:
        context = Context(w, 0, self.wave_size, self.isa, mods=self.inst.mods)
        assert self.row.emit is not None
        self.row.emit(StateRegisters(context, self.inst, regs))
        self._next(w)

    # Memory.

    def _memory(self, w: Writer, regs: OutOfLine) -> None:
        if self.inst.encoding == "SMEM":
            self._scalar_memory(w, regs)
        else:
            self._vector_memory(w, regs)
            if self.inst.mods.tfe and self.inst.dst:
                self._say_resident(w, regs)
        self._next(w)

    def _say_resident(self, w: Writer, regs: OutOfLine) -> None:
        """The register behind the data tells of pages that are missing: of none."""
        last, mask = self.inst.dst[0].count - 1, implicit(regs, "exec")
        for chunk in regs.chunks():
            regs.write_vector(("dst", 0), last, chunk, w.constant("i32", 0), regs.lanes_of(mask, chunk))

    def _vector_memory(self, w: Writer, regs: OutOfLine) -> None:
        access = self.row.access
        assert access is not None
        mask, null = implicit(regs, "exec"), Value(w, "ptr", 0, "null")
        data, result = self._data_places()
        space, returns = SPACE_OF[self.inst.encoding], bool(self.inst.dst)
        payload, word = w.constant("i64", access.bits // 8), null
        if access.typed:
            shape = Format.of(w, self.isa, self._format_word(w, regs))
            payload, word = shape.size, w.buffer(4)
            w.store(shape.word, word, 4)
            function: AccessFunction = TypedAccessFunction(
                self.row, access, space, self.wave_size, returns, self._watching, isa=self.isa
            )
        else:
            by_mode = self.isa if self.inst.mods.by_mode else ""
            function = self.memory_function(self.row, access, space, returns, by_mode)
        if space == "buffer" and access.count > 1 and not (access.typed or is_to_lds(self.inst)):
            places = [regs.rows(data[0]) if data else null, regs.rows(result) if result else null]
            self._by_dword(w, regs, function, mask, *places)
            return
        # Both addresses are taken before the first load, which may write the register that holds them.
        wheres = [
            Addresses(self.inst, regs, i, access.stride or 1, access.place, self.isa, payload).fill()
            for i in range(2 if access.stride else 1)
        ]
        if access.place == "wave":
            self._count_lanes(w, regs, function, mask, wheres[0])
            return
        if access.block:
            rows = regs.rows(result or data[0])
            self._block(w, regs, function, mask, wheres[0], rows)
            return
        if access.transpose is not None and result:
            self._transposed(w, regs, function, mask, wheres[0], regs.rows(result), *access.transpose)
            return
        for which, spots in enumerate(wheres):
            skip = which * access.bits // 32 * access.count * self.wave_size * 4
            if is_to_lds(self.inst):
                if access.op == "load":
                    emit_load(self, w, regs, function, mask, spots, word)
                else:
                    emit_store(self, w, regs, function, mask, spots)
                continue
            source = data[which] if which < len(data) else data[0] if data else None
            source_rows = regs.rows(source) if source else word
            if len(data) == 2 and not access.stride:
                source_rows = self._both_operands(w, regs, data, access.bits // 32)
            result_rows = w.at(regs.rows(result), skip) if result else word
            self.call_memory(w, function, mask, spots, source_rows, result_rows)

    def _by_dword(
        self, w: Writer, regs: OutOfLine, function: AccessFunction, mask: Value, data: Value, result: Value
    ) -> None:
        """Each dword of a lane is in a buffer's range or not; all at once where no lane is cut."""
        row, count, size = ROWS[f"buffer_{function.access.op}_dword"], function.access.count, 8 * self.wave_size
        assert row.access is not None
        single = self.memory_function(row, row.access, "buffer", function.returns)
        four, cut, spots = w.constant("i64", 4), w.variable(w.constant("i1", 0)), w.buffer(size * count)
        Addresses(self.inst, regs, isa=self.isa, payload=four, span=4 * (count - 1), cut=cut).fill(spots)
        apart, together, after = w.fresh("apart"), w.fresh("together"), w.fresh("moved")
        w.branch(cut.get(), apart, together)
        w.label(together)
        self.call_memory(w, function, mask, spots, data, result)
        w.jump(after)
        w.label(apart)
        with w.loop(count) as i:
            Addresses(self.inst, regs, isa=self.isa, payload=four, shift=i * 4).fill(w.at(spots, i * size))
        with w.loop(count) as i:
            skip, most = i * (4 * self.wave_size), 4 * self.wave_size * (count - 1)
            self.call_memory(w, single, mask, w.at(spots, i * size), w.at(data, skip, most), w.at(result, skip, most))
        w.label(after)

    def _count_lanes(self, w: Writer, regs: OutOfLine, function: AccessFunction, mask: Value, spots: Value) -> None:
        """One atomic for the wave, with the number of active lanes, each of which gets the old value."""
        counts, results = w.buffer(4 * self.wave_size), w.buffer(4 * self.wave_size)
        count = w.intrinsic("ctpop", mask).trunc("i32")
        w.store(count.splat(self.wave_size), counts, 64)
        self.call_memory(w, function, mask & -mask, spots, counts, results)
        first = w.intrinsic("cttz", mask, extra="i1 false") & (self.wave_size - 1)
        old = w.load(w.at(results, first.shl(2)), "i32", 0, 4)
        for chunk in regs.chunks():
            regs.write_vector(("dst", 0), 0, chunk, old, regs.lanes_of(mask, chunk))

    def _block(
        self, w: Writer, regs: OutOfLine, function: AccessFunction, mask: Value, spots: Value, rows: Value
    ) -> None:
        """32 registers and dwords that follow each other, those that M0 has a bit for."""
        chosen, places, null = regs.special("m0", "i32"), w.buffer(8 * self.wave_size), Value(w, "ptr", 0, "null")
        with w.loop(32) as i, w.when((chosen.lshr(i) & 1).ne(0)):
            for chunk in regs.chunks():
                spot = chunk * (8 * regs.lanes)
                w.store(w.load(w.at(spots, spot), "i64", regs.lanes, 64) + i.shl(2), w.at(places, spot), 64)
            row = w.at(rows, i * (4 * self.wave_size), 4 * self.wave_size * 31)
            both = (null, row) if function.access.op == "load" else (row, null)
            self.call_memory(w, function, mask, places, *both)

    def _transposed(
        self,
        w: Writer,
        regs: OutOfLine,
        load: AccessFunction,
        mask: Value,
        spots: Value,
        rows: Value,
        bits: int,
        group: int,
    ) -> None:
        """Loaded, then exchanged between the lanes of each group."""
        count, size = load.access.count, self.wave_size
        buffer = w.buffer(4 * size * count)
        for i in range(count):
            w.store(w.constant("i32", 0, size), w.at(buffer, 4 * size * i), 64)
        self.call_memory(w, load, mask, spots, Value(w, "ptr", 0, "null"), buffer)
        loaded = [w.load(w.at(buffer, 4 * size * i), "i32", size, 64) for i in range(count)]
        active = mask_lanes(mask, w.constant("i64", 0), size)
        for i, value in enumerate(transposed(w, loaded, bits, group)):
            row = w.at(rows, 4 * size * i)
            w.store(active.select(value, w.load(row, "i32", size, 64)), row, 64)

    def _format_word(self, w: Writer, regs: OutOfLine) -> Value:
        if self.inst.encoding == "MTBUF":
            return w.constant("i32", instruction_word(self.isa, self.inst.mods.format))
        return regs.scalar_part(("src", 1), 3) & resource_bits(self.isa)

    def _both_operands(self, w: Writer, regs: OutOfLine, data: list[Place], registers: int) -> Value:
        """Rows of an LDS form's two operands, one after the other; of a comparison the new value first.

        ds_cmpst names the comparand first, ds_cmpstore (gfx11 and later) the new value.
        """
        order = data[::-1] if self.inst.name.startswith("ds_cmpst_") else data
        row = 4 * self.wave_size
        rows = w.buffer(2 * registers * row)
        for i, place in enumerate(order):
            for register in range(registers):
                values = w.load(w.at(regs.rows(place), register * row), "i32", self.wave_size, 4)
                w.store(values, w.at(rows, (i * registers + register) * row), 64)
        return rows

    def _data_places(self) -> tuple[list[Place], Place | None]:
        first = {"DS": 1, "VDS": 1, "MUBUF": 3, "MTBUF": 3, "VBUFFER": 3}.get(self.inst.encoding, 2)
        data: list[Place] = [("src", i) for i in range(first, len(self.inst.src)) if self.inst.src[i].kind != "off"]
        return data, ("dst", 0) if self.inst.dst else None

    def call_memory(
        self, w: Writer, function: AccessFunction, mask: Value, spots: Value, data: Value, result: Value,
        operation: Value | None = None,
    ) -> None:  # fmt: skip
        within(data, function.data_bytes)
        within(result, function.result_bytes)
        self.accesses[function.key] = function
        w.declarations[function.key] = function.declaration
        of = "%op" if operation is None else operation.text
        w.line(
            f"call void @{function.key}(ptr %w, ptr {of}, i64 {mask.text}, ptr {spots.text}, ptr {data.text},"
            f" ptr {result.text})"
        )

    def _scalar_memory(self, w: Writer, regs: OutOfLine) -> None:
        access = self.row.access
        assert access is not None
        address, size = scalar_access(self.inst, regs, access)
        pointer = w.emit(f"inttoptr i64 {address.text} to ptr", "ptr")
        if self.inst.src[0].count == 2:
            self._check_scalars(w, regs, address, size)
            self._move_scalars(w, regs, pointer)
            return
        if access.op == "load":
            w.store(w.constant("i32", 0, access.count), regs.rows(("dst", 0)), 4)
        with w.when(size.ne(0)):
            self._check_scalars(w, regs, address, size)
            if access.count == 1:
                self._move_scalars(w, regs, pointer)
                return
            rows = regs.rows(("dst", 0) if self.inst.dst else ("src", 2))
            source, target = (pointer, rows) if access.op == "load" else (rows, pointer)
            with w.loop(size.lshr(2)) as i:
                most = 4 * (access.count - 1)
                w.store(w.load(w.at(source, i.shl(2), most), "i32", 0, 4), w.at(target, i.shl(2), most), 4)

    def _check_scalars(self, w: Writer, regs: OutOfLine, address: Value, size: Value) -> None:
        assert self.row.access is not None
        launch = w.load(wave_field(w, at.WAVE_LAUNCH), "ptr", 0, 8)
        low = w.load(w.at(launch, at.LAUNCH_ARENA), "i64", 0, 8)
        high = w.load(w.at(launch, at.LAUNCH_ARENA_END), "i64", 0, 8)
        bad = (address - low).compare("ugt", high - low - size)
        kind = kind_of(self.row.access.op)
        with w.when(bad):
            w.call(
                "record_fault", "void", 0, regs.wave(), regs.operation(), w.constant("i64", 0), address,
                size.trunc("i32"), w.constant("i32", int(kind != LOAD)), w.constant("i64", 0),
            )  # fmt: skip
            self._give_up(w)
        if self._watching:
            one, place = w.constant("i64", 1), w.buffer(8)
            w.store(address, place, 8)
            access = Accessed(kind, "scalar", one, place, size)
            allowed = accessed(self._watching, lambda i: Point(w, i, self.wave_size, one, regs.operation), access)
            with w.when(allowed.eq(0)):
                self._give_up(w)

    def _move_scalars(self, w: Writer, regs: OutOfLine, pointer: Value) -> None:
        access = self.row.access
        assert access is not None
        if access.op not in ("load", "store"):
            rows, width = regs.rows(("src", 2)), f"i{access.bits}"
            count = 2 if access.op == "cmpxchg" else 1
            operands = [w.load(w.at(rows, i * access.bits // 8), width, 0, 4) for i in range(count)]
            old = emit_atomic(w, access, pointer, operands)
            if self.inst.dst:
                w.store(old, regs.rows(("dst", 0)), 4)
        elif access.op == "store":
            data = w.load(regs.rows(("src", 2)), "i32", access.count, 4)
            w.store(data, pointer, 4)
        elif access.bits < 32:
            value = w.load(pointer, f"i{access.bits}").cast(access.extend, "i32")
            regs.write_scalar(("dst", 0), value)
        else:
            lanes = access.count if access.count > 1 else 0
            w.store(w.load(pointer, "i32", lanes, 4), regs.rows(("dst", 0)), 4)
