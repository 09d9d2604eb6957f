"""LLVM IR into an object file for this CPU. Any number of threads may compile at the same time."""

from __future__ import annotations

import ctypes
import sys
from collections import defaultdict
from contextlib import nullcontext
from functools import cache
from typing import Any, Final

from rocmkern.emulator.ir import host_features, target_features

QUICK: Final = 0  # LLVM's levels: half the time to compile, for code that runs once for each instruction's lanes
THOROUGH: Final = 2
_idle: Final = defaultdict[int, list[Any]](list)  # code generators, whose first module costs a millisecond more


@cache
def attributes() -> str:
    """Of every function, and what branches refer to.

    LLVM's models of AMD's CPUs schedule once more after register allocation, in time quadratic in the size of blocks:
    half of all compile time, for code that is no faster. So these CPUs are tuned for as Intel's are.
    """
    import llvmlite.binding as llvm

    near = "icelake-server" if "avx512f" in host_features() else "haswell"
    known = ["nounwind", '"min-legal-vector-width"="512"', '"prefer-vector-width"="512"', '"no-builtins"']
    if llvm.get_host_cpu_name().startswith("znver"):
        known.append(f'"tune-cpu"="{near}"')
    return f"""attributes #0 = {{ {" ".join(known)} }}
!0 = !{{!"branch_weights", i32 1000, i32 1}}
"""


def target_machine(level: int) -> Any:
    """LLVM's code generator for this CPU, for one thread at a time."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=target_features(), opt=level, jit=True
    )


def compile_ir(text: str, level: int) -> bytes:
    """The object file of a module."""
    try:
        machine = _idle[level].pop()
    except IndexError:
        machine = target_machine(level)
    try:
        return _compiled(text, machine)
    finally:
        _idle[level].append(machine)


def _compiled(text: str, machine: Any) -> bytes:
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(text, llvm.create_context())
    tuning = llvm.create_pipeline_tuning_options(speed_level=1)
    builder = llvm.create_pass_builder(machine, tuning)
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, builder)
    return emit_object(machine, module)


def emit_object(machine: Any, module: Any) -> bytes:
    """What `machine.emit_object(module)` gives, which holds llvmlite's one lock until it is done.

    All of the process that needs LLVM would wait for that, whereas LLVM asks for no more than a context and a machine
    for each thread.
    """
    library, error = _llvm(), ctypes.c_char_p()
    memory = library.LLVMPY_TargetMachineEmitToMemory(machine, module, 1, ctypes.byref(error))
    if not memory:
        raise RuntimeError((error.value or b"").decode())
    try:
        return ctypes.string_at(library.LLVMPY_GetBufferStart(memory), library.LLVMPY_GetBufferSize(memory))
    finally:
        library.LLVMPY_DisposeMemoryBuffer(memory)


_held: Final = list[Any]()  # llvmlite's lock, while a thread forks


def hold_llvm() -> None:
    """Wait until no thread is in LLVM by way of llvmlite: a child that was forked meanwhile could not use it."""
    ffi = sys.modules.get("llvmlite.binding.ffi")
    lock = nullcontext() if ffi is None else ffi.lib._lock
    lock.__enter__()
    _held.append(lock)


def release_llvm() -> None:
    _held.pop().__exit__(None, None, None)


@cache
def _llvm() -> ctypes.CDLL:
    """llvmlite's library without its lock."""
    from llvmlite.binding import ffi

    library, pointer = ctypes.CDLL(ffi.lib._name), ctypes.c_void_p
    for name, result, arguments in (
        ("TargetMachineEmitToMemory", pointer, (pointer, pointer, ctypes.c_int, pointer)),
        ("GetBufferStart", pointer, (pointer,)),
        ("GetBufferSize", ctypes.c_size_t, (pointer,)),
        ("DisposeMemoryBuffer", None, (pointer,)),
    ):
        function = getattr(library, f"LLVMPY_{name}")
        function.restype, function.argtypes = result, arguments
    return library
