"""Which process of a job this is, as its launcher says it in the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from attrs import frozen

from rocmkern.errors import ConfigError

DEFAULT_PORT: Final = 29500  # torchrun's

# The names of rank, number of processes, rank on this host and processes of this host: torchrun's, Open MPI's, Slurm's,
# and those of MPICH and Intel MPI.
_LAUNCHERS: Final = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),
    (
        "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
    ),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"),
)  # fmt: skip


@frozen
class Place:
    """A process among those of a job, and where the first of them listens."""

    rank: int
    size: int
    local_rank: int  # among those of this host
    address: str | None  # None where the launcher does not say it and there may be several hosts
    port: int


def place(
    environment: Mapping[str, str] = os.environ, *, rank: int | None = None, world_size: int | None = None
) -> Place:
    """This process's place by the environment, in which `rank` and `world_size` take precedence.

    Raises ConfigError where neither tells both, or a number is none or too large.
    """
    names = next((names for names in _LAUNCHERS if names[0] in environment), _LAUNCHERS[0])
    own = _number(environment, names[0]) if rank is None else rank
    size = _number(environment, names[1]) if world_size is None else world_size
    if own is None or size is None:
        raise ConfigError(
            f"init: no {names[0] if own is None else names[1]} in the environment; start the processes by torchrun, "
            "mpirun or srun, or pass rank and world_size"
        )
    if not 0 <= own < size:
        raise ConfigError(f"init: rank {own} of {size} processes; ranks count from 0")
    local, beside = _number(environment, names[2]), _number(environment, names[3])
    address = environment.get("MASTER_ADDR")
    if address is None and (beside == size or (local is None and beside is None)):
        address = "127.0.0.1"
    port = _number(environment, "MASTER_PORT")
    return Place(own, size, own if local is None else local, address, DEFAULT_PORT if port is None else port)


def _number(environment: Mapping[str, str], name: str) -> int | None:
    text = environment.get(name)
    if text is None:
        return None
    if not text.isdecimal():
        raise ConfigError(f"init: {name}={text!r} in the environment is no number; correct it")
    return int(text)
