"""From a function to an operation: planned once for operands of the same kinds, dtypes, layouts and options."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from math import copysign
from types import NoneType
from typing import Any, Final, ParamSpec, TypeVar

import numpy as np

from rocmkern.default_dtypes import floating, others
from rocmkern.engine.draft import PLAIN, Draft, thread
from rocmkern.engine.plan import Plan
from rocmkern.errors import ClosedError
from rocmkern.runtime import Device
from rocmkern.runtime.capturing import current, under_way
from rocmkern.runtime.symbols import UnknownValues
from rocmkern.tensor import Tensor

_P = ParamSpec("_P")
_R = TypeVar("_R")
Key = tuple[Any, ...]
_NUMBERS: Final = frozenset(
    (float, complex, *(t for t in np.sctypeDict.values() if issubclass(t, np.number | np.bool_)))
)
_KEPT: Final = 4096
_INTEGERS: Final = {int}
_ENDS: Final = frozenset((int, NoneType))  # of a slice


class _Plans:
    """The plans that were used last, in two generations: what was not asked for while one filled up goes.

    Every thread reads and writes them without a lock: operations of a dictionary are atomic in CPython.
    """

    def __init__(self) -> None:
        self.young: dict[Key, Plan | None] = {}
        self.old: dict[Key, Plan | None] = {}

    def keep(self, key: Key, plan: Plan | None) -> None:
        if len(self.young) >= _KEPT // 2:
            self.old, self.young = self.young, {}
        self.young[key] = plan

    def forget(self) -> None:
        self.young, self.old = {}, {}


_plans: Final = _Plans()
atexit.register(_plans.forget)  # memory goes back while the drivers still work


def forget_plans() -> None:
    """Forgets all plans, because kernels may be chosen otherwise from now on."""
    _plans.forget()


def planned(operation: Callable[_P, _R]) -> Callable[_P, _R]:
    """An operation that does the same for all values of its operands.

    One that is given `out` writes there: its plan also depends on which operands share that memory.
    """
    return _planned(operation, None)


def writes(operand: int) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """The same for an operation that writes to the operand of that number."""
    return lambda operation: _planned(operation, operand)


def _planned(operation: Callable[..., _R], written: int | None) -> Callable[..., _R]:
    names = operation.__code__.co_varnames[: operation.__code__.co_argcount]
    out_at = names.index("out") if "out" in names else len(names)

    @wraps(operation)
    def call(*args: Any, **options: Any) -> Any:
        if under_way:
            if thread.draft is not None:
                return operation(*args, **options)
            recorder = current()
            if recorder is not None:
                recorder.hold((args, *options.values()))
        # Most calls are of one tensor or have one more argument: their key takes a third of the time of the other way.
        if len(args) == 1 and not options and not others:
            (x,) = args
            if x.__class__ is Tensor:
                plan = _plans.young.get((operation, x._kind or x.kind))
                if plan is not None:
                    return _run(plan, args)
        elif len(args) == 2 and written is None and args[0].__class__ is Tensor and not others:
            x, y = args
            like = y.__class__
            if not options and like is Tensor:
                plan = _plans.young.get((operation, x._kind or x.kind, y._kind or y.kind))
                if plan is not None:
                    return _run(plan, args)
            elif not options and (like in PLAIN or (like is float and y and y == y)):
                plan = _plans.young.get((operation, x._kind or x.kind, like, y))
                if plan is not None:
                    return _run(plan, (x,))
            elif like is Tensor and [*options] == ["out"] and options["out"] is x and x.memory is not y.memory:
                kind = x._kind or x.kind
                plan = _plans.young.get((operation, kind, y._kind or y.kind, "out", kind, 0, None, 0))
                if plan is not None:
                    return _run(plan, (x, y, x))
        parts: list[Any] = [operation, floating()] if others else [operation]
        operands: list[Tensor] = []
        if not _tell(args, parts, operands):
            return operation(*args, **options)
        target: Any = args[out_at] if len(args) > out_at else None
        if options:
            parts.extend(options)
            if not _tell(options.values(), parts, operands):
                return operation(*args, **options)
            target = options.get("out", target)
        if target is not None and target.__class__ is not Tensor:
            return operation(*args, **options)
        if written is not None:
            target = operands[written]
        if target is not None:
            _tell_shared(target, operands, parts)
        key = tuple(parts)
        plan = _plans.young.get(key)
        if plan is None:
            plan = _found(key, operation, args, options, operands, target)
            if plan is None:
                return operation(*args, **options)
        return _run(plan, operands, None if operands else _place(args))

    return call


def _run(plan: Plan, operands: Sequence[Tensor], place: Device | None = None) -> Any:
    device = operands[0].device if place is None else place
    try:
        if under_way:
            recorder = current()
            if recorder is not None:
                return plan.capture(recorder, device, operands)
        return plan.run(device, operands)
    except ClosedError:  # somebody closed a module: the next operation loads another
        forget_plans()
        raise


def _found(
    key: Key,
    operation: Callable[..., Any],
    args: tuple[Any, ...],
    options: dict[str, Any],
    operands: list[Tensor],
    target: Tensor | None,
) -> Plan | None:
    """The plan for a key that is not among the latest: an older one, or one that is made now. None: there can't be."""
    if key in _plans.young:
        return None
    plan = _plans.old.get(key)
    if plan is None and key not in _plans.old:
        plan = _made(operation, args, options, operands, target)
    _plans.keep(key, plan)
    return plan


def _made(
    operation: Callable[..., Any],
    args: tuple[Any, ...],
    options: dict[str, Any],
    operands: list[Tensor],
    target: Tensor | None,
) -> Plan | None:
    device = operands[0].device if operands else _place(args)
    if device is None:
        return None
    draft = Draft()
    under_way.append(draft)
    thread.draft = draft
    try:
        symbols = iter(draft.operands(operands, target))
        given = [_with_symbols(value, symbols) for value in args]
        named = {name: _with_symbols(value, symbols) for name, value in options.items()}
        return draft.plan(operation(*given, **named))
    except UnknownValues:
        return None
    finally:
        thread.draft = None
        under_way.remove(draft)


def _place(args: tuple[Any, ...]) -> Device | None:
    """Where an operation without operands is asked to be."""
    for value in args:
        if value.__class__ is Device:
            return value
    return None


def _with_symbols(value: Any, symbols: Any) -> Any:
    """The argument with the next symbol for each tensor in it."""
    if isinstance(value, Tensor):
        return next(symbols)
    if isinstance(value, tuple | list):
        return value.__class__(_with_symbols(v, symbols) for v in value)
    return value


def _tell(values: Iterable[Any], parts: list[Any], operands: list[Tensor]) -> bool:
    """Add what an operation may find out of arguments, values of tensors aside; False where that is not known."""
    for value in values:
        kind = value.__class__
        if kind is Tensor:
            parts.append(value._kind or value.kind)
            operands.append(value)
        elif kind in PLAIN or (kind is float and value and value == value):
            parts += (kind, value)
        elif kind is tuple or kind is list:
            if set(map(type, value)) == _INTEGERS:
                parts += (kind, tuple(value))
            else:
                parts += (kind, len(value))
                if not _tell(value, parts, operands):
                    return False
        elif kind is Device:
            parts.append(value._driver)
        elif kind is slice:
            start, stop, step = value.start, value.stop, value.step
            parts += (slice, start, stop, step)
            if start.__class__ not in _ENDS or stop.__class__ not in _ENDS or step.__class__ not in _ENDS:
                return False
        elif kind in _NUMBERS:
            parts += _number(value)
        else:
            return False
    return True


def _number(value: Any) -> Key:
    """A number as part of a key: 1, 1.0, True and NumPy's differ, as do 0.0 and -0.0; a NaN is found again."""
    kind = value.__class__
    if kind is complex or isinstance(value, np.complexfloating):
        return (kind, repr(complex(value)))
    if value == value and (value or copysign(1, value) > 0):
        return (kind, value)
    return (kind, repr(float(value)))


def _tell_shared(target: Tensor, operands: list[Tensor], parts: list[Any]) -> None:
    """Add which operands have the memory of the one that is written, and how far from it they begin."""
    memory = target.memory
    parts += [None if x.memory is not memory else 0 if x is target else x.address - target.address for x in operands]
