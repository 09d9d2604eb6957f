"""The functions that generated code is made of, by symbol: scheduler, memory functions, support functions, handlers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from attrs import define, field

from rocmkern.emulator import faults, scheduler
from rocmkern.emulator.access import AccessFunction
from rocmkern.emulator.ir import Value, Writer, type_text
from rocmkern.emulator.isa.model import Inst
from rocmkern.emulator.meaning.api import ELEMENT, SUPPORT, Context, Row
from rocmkern.emulator.native import Build, Code, Native
from rocmkern.emulator.observers.seam import NOBODY, Observers
from rocmkern.emulator.tier0 import HandlerBuilder, symbol_of
from rocmkern.emulator.tier1 import UnitBuilder, plain_code


@define(eq=False)
class Library:
    """Makes handlers and what they call available in `native`."""

    native: Native
    _accesses: dict[str, AccessFunction] = field(factory=dict)
    _plains: dict[str, HandlerBuilder] = field(factory=dict)

    def load_scheduler(self, observers: Observers = NOBODY) -> int:
        """Address of `run`. What all code calls, that of the observers too, is callable then."""
        symbol, key = scheduler.run_symbol(observers), f"scheduler{observers.suffix}"
        address = self.native.address(symbol)
        if address is None and self.native.recall(key):
            address = self.native.address(symbol)
        if address is None:
            codes = (faults.record_fault(), *observers.functions(), scheduler.run(observers))
            self.native.ensure({c.symbol: _same(c) for c in codes})
            self.native.keep(key, [c.symbol for c in codes], True)
            address = self.native.address(symbol)
            assert address is not None
        return address

    def handlers(
        self, by_shape: dict[str, Callable[[], tuple[Row, Inst]]], isa: str, wave_size: int, observers: Observers
    ) -> dict[str, int]:
        """Addresses of the operation functions of instructions, by shape."""
        self.load_scheduler(observers)
        symbols = {text: symbol_of(text) for text in by_shape}
        wanted: dict[str, Build] = {}
        for text, instruction in by_shape.items():
            wanted[symbols[text]] = partial(self._operation, symbols[text], instruction, isa, wave_size, observers)
        self.native.ensure(wanted, self._part)
        return {text: self.native.address(symbol) or 0 for text, symbol in symbols.items()}

    def _operation(
        self, symbol: str, instruction: Callable[[], tuple[Row, Inst]], isa: str, wave_size: int, observers: Observers
    ) -> Code:
        return self._handler(symbol, HandlerBuilder(*instruction(), isa, wave_size, observers))

    def _handler(self, symbol: str, builder: HandlerBuilder) -> Code:
        handler = builder.build(symbol)
        self._accesses |= handler.accesses
        needs = (*sorted(handler.accesses), *sorted(handler.supports))
        return Code(symbol, handler.text, handler.declarations, needs, handler.globals, builder.level)

    def units(self, builders: list[UnitBuilder]) -> dict[int, int]:
        """Addresses of compiled units, by where they begin. What runs them has loaded the scheduler."""
        wanted: dict[str, Build] = {b.symbol: partial(self._unit, b) for b in builders}
        self.native.ensure(wanted, self._part)
        return {b.entry: self.native.address(b.symbol) or 0 for b in builders}

    def _unit(self, builder: UnitBuilder) -> Code:
        code = builder.build()
        for symbol, (row, inst) in builder.plains.items():
            self._plains[symbol] = plain_code(row, inst, builder.isa, builder.wave_size, builder.observers)
        return code

    def _plain(self, symbol: str) -> Code:
        return self._handler(symbol, self._plains[symbol])

    def _part(self, symbol: str) -> Callable[[], Code]:
        if symbol in self._plains:
            return partial(self._plain, symbol)
        if symbol in self._accesses:
            return partial(self._access, self._accesses[symbol])
        return partial(support_code, symbol)

    def _access(self, function: AccessFunction) -> Code:
        w = Writer()
        function.body(w)
        body = "\n".join([*w.prologue, *w.lines])
        parameters = "(ptr %w, ptr %op, i64 %mask, ptr %addresses, ptr %data, ptr %result)"
        return Code(
            function.key, f"define void @{function.key}{parameters} #0 {{\n{body}\n}}\n", w.declarations,
            tuple(sorted(w.supports)), w.globals,
        )  # fmt: skip


def _same(code: Code) -> Build:
    return lambda: code


def support_code(symbol: str) -> Code:
    """The code of support function `name_lanes` (or `name`, scalar)."""
    name, _, count = symbol.rpartition("_")
    if name not in SUPPORT:
        name, count = symbol, "0"
    signature, emit = SUPPORT[name]
    result, _, sources = signature.partition("=")
    lanes, w = int(count), Writer()
    parameters = [Value(w, ELEMENT[t], lanes, f"%p{i}") for i, t in enumerate(sources.split())]
    value = emit(Context(w, lanes, 0, ""), *parameters)
    assert isinstance(value, Value)
    w.line(f"ret {value.type} {value.text}")
    body = "\n".join([*w.prologue, *w.lines])
    listed = ", ".join(f"{p.type} {p.text}" for p in parameters)
    strict = " strictfp" if w.sets_rounding else ""
    head = f"define {type_text(ELEMENT[result.strip()], lanes)} @{symbol}({listed}) #0{strict}"
    return Code(symbol, f"{head} {{\n{body}\n}}\n", w.declarations, tuple(sorted(w.supports)), w.globals)
