"""Runs one vector row on NumPy arrays, apart from decoder and engine."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from rocmkern.emulator.ir import Value, Writer, type_text
from rocmkern.emulator.meaning.api import ELEMENT, ROWS, SUPPORT, Context, Emit

LANES = 16
NUMPY = {
    "half": np.float16,
    "float": np.float32,
    "double": np.float64,
    "i16": np.uint16,
    "i32": np.uint32,
    "i64": np.uint64,
    "i1": np.uint8,
}


@cache
def _engine() -> tuple[llvm.ExecutionEngine, llvm.TargetMachine]:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=2
    )
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine), machine


def _define(name: str, emit: Emit, destination: str, sources: list[str], out: dict[str, str]) -> None:
    writer = Writer()
    arguments = [Value(writer, ELEMENT[s], LANES, f"%a{i}") for i, s in enumerate(sources)]
    result = emit(Context(writer, LANES, 64, "gfx90a"), *arguments)
    kind = type_text(ELEMENT[destination], LANES)
    parameters = ", ".join(f"{a.type} {a.text}" for a in arguments)
    body = "\n".join(writer.lines)
    out[name] = f"define internal {kind} @{name}({parameters}) {{\n{body}\n  ret {result.type} {result.text}\n}}"
    out.update({f"g{n}": g for n, g in writer.globals.items()})
    for symbol in writer.supports:
        if symbol not in out:
            signature, inner = SUPPORT[symbol.removesuffix(f"_{LANES}")]
            to, _, arguments_text = signature.partition("=")
            out[symbol] = ""
            _define(symbol, inner, to.strip(), arguments_text.split(), out)
    for symbol, line in writer.declarations.items():
        if symbol not in writer.supports:
            out[f"d{symbol}"] = line


@cache
def _compiled(name: str) -> tuple[Any, tuple[str, ...], tuple[str, ...]]:
    row = ROWS[name]
    sources = tuple(s.lstrip("^") for s in row.sources)
    writer = Writer()
    values = []
    for i, source in enumerate(sources):
        element = ELEMENT[source]
        values.append(writer.load(Value(writer, "ptr", 0, f"%p{i}"), element, LANES))
    assert row.emit is not None
    results = row.emit(Context(writer, LANES, 64, "gfx90a"), *values)
    results = results if isinstance(results, tuple) else (results,)
    for i, result in enumerate(results):
        writer.store(result.zext("i8") if result.element == "i1" else result, Value(writer, "ptr", 0, f"%r{i}"))
    parts: dict[str, str] = {f"g{n}": g for n, g in writer.globals.items()}
    for symbol in writer.supports:
        signature, inner = SUPPORT[symbol.removesuffix(f"_{LANES}")]
        to, _, text = signature.partition("=")
        _define(symbol, inner, to.strip(), text.split(), parts)
    parts.update({f"d{s}": line for s, line in writer.declarations.items() if s not in writer.supports})
    parameters = ", ".join([f"ptr %p{i}" for i in range(len(sources))] + [f"ptr %r{i}" for i in range(len(results))])
    symbol = "row_" + name
    parts[symbol] = f"define void @{symbol}({parameters}) {{\n" + "\n".join(writer.lines) + "\n  ret void\n}"
    engine, _ = _engine()
    module = llvm.parse_assembly("\n".join(parts.values()))
    engine.add_module(module)
    engine.finalize_object()
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(sources) + len(results)))(
        engine.get_function_address(symbol)
    )
    return function, sources, tuple("i8" if r.element == "i1" else r.element for r in results)


def run(name: str, *operands: np.ndarray) -> np.ndarray:
    """The first result of the row on flat arrays of its element types (integers as unsigned bits)."""
    function, sources, results = _compiled(name)
    size = len(operands[0])
    padded = -(-size // LANES) * LANES
    inputs = []
    for source, operand in zip(sources, operands, strict=True):
        wide = np.zeros(padded, NUMPY[ELEMENT[source]])
        wide[:size] = operand.view(wide.dtype) if operand.dtype.itemsize == wide.itemsize else operand
        inputs.append(wide)
    outputs = [np.zeros(padded, {"i8": np.uint8}.get(r) or NUMPY[r]) for r in results]
    for start in range(0, padded, LANES):
        function(*(a[start:].ctypes.data for a in inputs), *(o[start:].ctypes.data for o in outputs))
    return outputs[0][:size]
