"""Several processes with a device each: groups, and what they do together with their tensors."""

from rocmkern.distributed.groups import Group, init, is_initialized, world
from rocmkern.distributed.operations import (
    all_gather,
    all_reduce,
    all_to_all,
    barrier,
    broadcast,
    recv,
    reduce_scatter,
    send,
)

__all__ = [
    "Group",
    "all_gather", "all_reduce", "all_to_all", "barrier", "broadcast", "init", "is_initialized", "recv",
    "reduce_scatter", "send", "world",
]  # fmt: skip
