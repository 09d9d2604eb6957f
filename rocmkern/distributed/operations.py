"""What the processes of a group do together with their tensors.

Every process of the group calls the same operation with tensors of one shape and dtype. On a GPU the calls return
before the work is done, which is ordered by the stream; within the capture of a graph they become a step of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from rocmkern.distributed.backend import REDUCTIONS
from rocmkern.distributed.groups import Group, world
from rocmkern.drivers.protocol import CallStep
from rocmkern.dtypes import DType, bool_, dtype, part_of
from rocmkern.errors import DTypeError, ShapeError
from rocmkern.layout import Shape, contiguous
from rocmkern.ops.casting import cast, duplicate
from rocmkern.ops.launch import empty
from rocmkern.ops.movement import write
from rocmkern.runtime import Stream, capturing
from rocmkern.runtime.stream import stream_handle
from rocmkern.tensor import Tensor

Work = Callable[[Sequence[int], int], None]


def all_reduce(
    x: Tensor, op: str = "sum", *, out: Tensor | None = None, group: Group | None = None, stream: Stream | None = None
) -> Tensor:
    """The tensors of all processes reduced element by element: by "sum", "prod", "max", "min" or "avg".

    `out` may be `x` itself. Booleans count as numbers: a sum tells whether any is true. float16, bfloat16 and float8
    are reduced in the library's way, on emulated devices in float32. Raises DTypeError for an average of integers, and
    for an order of complex numbers.
    """
    group = group or world()
    x = _given("all_reduce", x, group)
    out = _result("all_reduce", x, x.shape, out)
    kind, name = _reduction("all_reduce", x.dtype, op)
    if not group.backend.reduces(kind):
        wide = cast(x, _wider(x.dtype))
        write(cast(all_reduce(wide, op, group=group, stream=stream), x.dtype), out)
        return out
    count, backend = x.nbytes // kind.itemsize, group.backend
    _do("all_reduce", group, x, out, stream, lambda at, on: backend.all_reduce(at[0], at[1], count, kind, name, on))
    return out


def reduce_scatter(
    x: Tensor, op: str = "sum", *, out: Tensor | None = None, group: Group | None = None, stream: Stream | None = None
) -> Tensor:
    """This process's part of what all_reduce gives: the first axis is divided between the processes by their ranks.

    Raises ShapeError where it can't be, and what all_reduce raises.
    """
    group = group or world()
    x = _given("reduce_scatter", x, group)
    shape = _divided("reduce_scatter", x, group)
    out = _result("reduce_scatter", x, shape, out)
    kind, name = _reduction("reduce_scatter", x.dtype, op)
    if not group.backend.reduces(kind):
        wide = cast(x, _wider(x.dtype))
        write(cast(reduce_scatter(wide, op, group=group, stream=stream), x.dtype), out)
        return out
    count, backend = out.nbytes // kind.itemsize, group.backend
    reduced = backend.reduce_scatter
    _do("reduce_scatter", group, x, out, stream, lambda at, on: reduced(at[0], at[1], count, kind, name, on))
    return out


def all_gather(
    x: Tensor, *, out: Tensor | None = None, group: Group | None = None, stream: Stream | None = None
) -> Tensor:
    """The tensors of all processes one behind the other along the first axis; numbers become a vector."""
    group = group or world()
    x = _given("all_gather", x, group)
    shape = (group.size * x.shape[0], *x.shape[1:]) if x.shape else (group.size,)
    out = _result("all_gather", x, shape, out)
    nbytes, backend = x.nbytes, group.backend
    _do("all_gather", group, x, out, stream, lambda at, on: backend.all_gather(at[0], at[1], nbytes, on))
    return out


def all_to_all(
    x: Tensor, *, out: Tensor | None = None, group: Group | None = None, stream: Stream | None = None
) -> Tensor:
    """The first axis divided between the processes: each gets its part of every process's tensor, by their ranks.

    Raises ShapeError where it can't be divided.
    """
    group = group or world()
    x = _given("all_to_all", x, group)
    _divided("all_to_all", x, group)
    out = _result("all_to_all", x, x.shape, out, aliases=False)
    nbytes, backend = x.nbytes // group.size, group.backend
    _do("all_to_all", group, x, out, stream, lambda at, on: backend.all_to_all(at[0], at[1], nbytes, on))
    return out


def broadcast(
    x: Tensor, root: int = 0, *, out: Tensor | None = None, group: Group | None = None, stream: Stream | None = None
) -> Tensor:
    """The tensor of the process of rank `root`; those of the others say its shape and dtype."""
    group = group or world()
    root = _peer("broadcast", root, group)
    x = _given("broadcast", x, group)
    out = _result("broadcast", x, x.shape, out)
    nbytes, backend = x.nbytes, group.backend
    _do("broadcast", group, x, out, stream, lambda at, on: backend.broadcast(at[0], at[1], nbytes, root, on))
    return out


def send(x: Tensor, to: int, *, group: Group | None = None, stream: Stream | None = None) -> None:
    """Hands a tensor to the process of rank `to`, which receives it at the same time."""
    group = group or world()
    to = _peer("send", to, group)
    x = _given("send", x, group)
    nbytes, backend = x.nbytes, group.backend
    _do("send", group, x, x, stream, lambda at, on: backend.send(at[0], nbytes, to, on))


def recv(out: Tensor, source: int, *, group: Group | None = None, stream: Stream | None = None) -> Tensor:
    """Fills `out` with what the process of rank `source` sends, a tensor of the same shape and dtype."""
    group = group or world()
    source = _peer("recv", source, group)
    if not out.is_contiguous:
        raise ShapeError(f"recv: out of shape {out.shape} has strides {out.strides}; give a contiguous one")
    nbytes, backend = out.nbytes, group.backend
    _do("recv", group, out, out, stream, lambda at, on: backend.recv(at[1], nbytes, source, on))
    return out


def barrier(group: Group | None = None) -> None:
    """Returns when all processes of the group have called it."""
    capturing.require_done("barrier")
    (group or world()).backend.barrier()


def _given(operation: str, x: Any, group: Group) -> Tensor:
    """A tensor of the group's device whose elements lie one after the other."""
    if not isinstance(x, Tensor):
        raise DTypeError(f"{operation}: a {type(x).__name__} is no tensor; use asarray")
    if x.device != group.device:
        raise DTypeError(f"{operation}: a tensor on {x.device.name} for a group on {group.device.name}; use x.to()")
    return x if x.is_contiguous else duplicate(x)


def _result(operation: str, x: Tensor, shape: Shape, out: Tensor | None, aliases: bool = True) -> Tensor:
    """Where the result goes. Raises ShapeError or DTypeError for another tensor than it needs."""
    if out is None:
        return empty(shape, x.dtype, x.device)
    if out.shape != shape or out.strides != contiguous(shape).strides:
        raise ShapeError(
            f"{operation}: out of shape {out.shape} with strides {out.strides}; give a contiguous one of {shape}"
        )
    if out.dtype is not x.dtype or out.device != x.device:
        raise DTypeError(f"{operation}: out of {out.dtype} on {out.device.name}; give {x.dtype} on {x.device.name}")
    if not aliases and out.memory is x.memory:
        raise ShapeError(f"{operation}: out shares memory with the operand; give other memory")
    return out


def _divided(operation: str, x: Tensor, group: Group) -> Shape:
    """The shape of one process's part."""
    if not x.shape or x.shape[0] % group.size:
        raise ShapeError(
            f"{operation}: shape {x.shape} for {group.size} processes; give a first axis that they can divide"
        )
    return (x.shape[0] // group.size, *x.shape[1:])


def _peer(operation: str, rank: int, group: Group) -> int:
    if not isinstance(rank, int) or not 0 <= rank < group.size:
        raise ShapeError(f"{operation}: rank {rank!r} of a group of {group.size}; ranks count from 0")
    return rank


def _reduction(operation: str, given: DType, op: str) -> tuple[DType, str]:
    """The dtype and the reduction of what is added: those of the parts of complex numbers, of the bytes of booleans."""
    if op not in REDUCTIONS:
        raise DTypeError(f"{operation}: no reduction {op!r}; use one of {', '.join(REDUCTIONS)}")
    if given.is_complex:
        if op not in ("sum", "avg"):
            raise DTypeError(f"{operation}: {op} of {given}; use sum or avg, or all_gather and reduce that")
        return part_of(given), op
    if op == "avg" and not given.is_float:
        raise DTypeError(f"{operation}: avg of {given}; cast to a float dtype, or use sum")
    if given is bool_:
        return dtype("uint8"), {"sum": "max", "prod": "min"}.get(op, op)
    return given, op


def _wider(narrow: DType) -> DType:
    """A dtype of more bits whose reductions, rounded back, are those of the narrow one."""
    if narrow.is_float:
        return dtype("float16")
    return dtype("uint32" if narrow.kind == "unsigned" else "int32")


def _do(what: str, group: Group, x: Tensor, out: Tensor, stream: Stream | None, work: Work) -> None:
    """Has the work done with the addresses of operand and result, on a stream or as a step of a graph."""
    driver, recorder = group.device.driver, capturing.current()
    if recorder is not None:
        recorder.hold((x, out))
        recorder.call(group.device, work, group.backend, what, [(t.memory, t.address, t.address) for t in (x, out)])
        return
    handle = stream_handle(stream, driver)
    step = CallStep(partial(work, (x.address, out.address)), group.backend, what)
    kept = (x, out)  # until an emulated stream has done it

    def call(on: int, kept: object = kept) -> None:
        step.run(on)

    if stream is not None:
        for tensor in kept:
            used_on = getattr(tensor.memory, "used_on", None)
            if used_on is not None:
                used_on(stream)
    driver.enqueue(call, handle)
