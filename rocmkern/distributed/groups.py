"""Groups of processes: the job of all of them, and parts of it."""

from __future__ import annotations

import atexit
import os
from collections.abc import Sequence
from pathlib import Path

from attrs import define, field

from rocmkern import drivers
from rocmkern.distributed.backend import Backend
from rocmkern.distributed.places import place
from rocmkern.distributed.rendezvous import Rendezvous, meet
from rocmkern.errors import ClosedError, CollectiveError, ConfigError
from rocmkern.runtime import Device
from rocmkern.runtime.closing import Closing
from rocmkern.runtime.device import DeviceLike, open_device


@define(eq=False, repr=False)
class Group(Closing):
    """Processes that work together, each with its device. `rank` is this one's among them, `ranks` are all of theirs in
    the job.
    """

    device: Device
    ranks: tuple[int, ...]
    rank: int
    _rendezvous: Rendezvous
    _backend: Backend | None = field(init=False)
    _process: int = field(init=False, factory=os.getpid)

    def __attrs_post_init__(self) -> None:
        self._backend = _backend(self.device, self._rendezvous, self.ranks, self.rank)

    @property
    def size(self) -> int:
        return len(self.ranks)

    @property
    def backend(self) -> Backend:
        """What moves the memory. Raises ClosedError, and CollectiveError in a child that was forked."""
        if self._process != os.getpid():
            raise CollectiveError(
                f"group of {self.size}: this process was forked from rank {self.rank}; start each process of a job anew"
            )
        if self._backend is None:
            raise ClosedError(f"group of {self.size}: it is closed; make another")
        return self._backend

    @property
    def is_closed(self) -> bool:
        return self._backend is None

    def part(self, ranks: Sequence[int]) -> Group | None:
        """Some of this group's processes, named by their ranks in it, as a group; None for a process not among them.

        All that are among them must call, for several groups in one order. Raises ConfigError for ranks that are none.
        """
        chosen = tuple(ranks)
        if not chosen or len(set(chosen)) != len(chosen) or not all(0 <= rank < self.size for rank in chosen):
            raise ConfigError(f"part: ranks {list(ranks)} of {self.size}; name each once, counted from 0")
        if self.rank not in chosen:
            return None
        of_job = tuple(self.ranks[rank] for rank in chosen)
        return Group(self.device, of_job, chosen.index(self.rank), self._rendezvous)

    def close(self) -> None:
        """Ends the use of the group, when its work is done and the others close theirs. The job's own also leaves the
        job.
        """
        global _world
        backend = self._taken()
        if backend is None:
            return
        try:
            backend.close()
        finally:
            if _world is self:
                _world = None
                self._rendezvous.close()

    def abandon(self) -> None:
        """Ends the use of the group at once, as an error that leaves its `with` does. The others' calls that wait for
        this process raise CollectiveError.
        """
        global _world
        backend = self._taken()
        if backend is None:
            return
        if _world is self:
            _world = None
            self._rendezvous.leave()
        backend.abandon()

    def _taken(self) -> Backend | None:
        """The backend, for who ends its use in this process."""
        backend, self._backend = self._backend, None
        return backend if self._process == os.getpid() else None

    def __exit__(self, *raised: object) -> None:
        if raised[0] is None:
            self.close()
        else:
            self.abandon()

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else self.backend.name
        return f"Group(rank {self.rank} of {self.size}, {self.device.name}, {state})"


_world: Group | None = None


@atexit.register
def _abandon() -> None:
    """Leaves the job as the process ends, at once: the others hear of it, and wait no longer."""
    if _world is not None:
        _world.abandon()


def _backend(device: Device, rendezvous: Rendezvous, ranks: tuple[int, ...], rank: int) -> Backend:
    kind = (device.name or "").partition(":")[0]
    if kind == "emulator":
        from rocmkern.distributed.shared import SharedMemory

        return SharedMemory(device.driver, rendezvous, ranks, rank)
    from rocmkern.distributed.vendors import Communicator
    from rocmkern.drivers import collective_library

    library = collective_library.nccl() if kind == "cuda" else collective_library.rccl()
    return Communicator(library, device, rendezvous, ranks, rank)


def init(
    device: DeviceLike = None,
    *,
    rank: int | None = None,
    world_size: int | None = None,
    file: str | os.PathLike[str] | None = None,
    timeout: float = 600.0,
) -> Group:
    """Joins the job that the environment tells of, as torchrun, mpirun and srun set it, and returns its group.

    Without `device` it is the one of the local rank, of the kind that is the default; a kind alone, such as "cuda",
    gets the local rank too. The processes meet at MASTER_ADDR and MASTER_PORT, or by `file`, a path that all of them
    see and the first one writes. A process waits `timeout` seconds for the others, here and in each operation.

    Raises ConfigError where the environment does not say enough, CollectiveTimeout where the others do not come.
    """
    global _world
    if _world is not None:
        raise ConfigError(f"init: this process is rank {_world.rank} of a job already; close that group first")
    here = place(rank=rank, world_size=world_size)
    opened = open_device(_of_local_rank(device, here.local_rank))
    rendezvous = meet(here, None if file is None else Path(file), timeout)
    try:
        _world = Group(opened, tuple(range(here.size)), here.rank, rendezvous)
    except BaseException:
        rendezvous.close()
        raise
    return _world


def _of_local_rank(device: DeviceLike, local_rank: int) -> DeviceLike:
    if isinstance(device, Device):
        return device
    named = drivers.default_name() if device is None else device
    kind, _, number = named.partition(":")
    if kind == "emulator":
        return named
    return f"{kind}:{local_rank}" if device is None or not number else named


def is_initialized() -> bool:
    """Whether this process has joined a job."""
    return _world is not None


def world() -> Group:
    """The group of all processes of the job. Raises CollectiveError before init()."""
    if _world is None:
        raise CollectiveError("distributed: this process has joined no job; call rocmkern.distributed.init() first")
    return _world
