"""Processes as launchers start them: how they find each other, and what they hear of one that dies."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from rocmkern.distributed.places import place
from rocmkern.distributed.rendezvous import meet
from rocmkern.errors import CollectiveTimeout, ConfigError
from tests.distributed.jobs import ended, free_port, started

SUM = """
import rocmkern as rk
with rk.distributed.init("emulator:gfx942", timeout=60) as group:
    x = rk.arange(3, device=group.device) + group.rank
    print(rk.distributed.all_reduce(x).tolist(), group.rank, group.size)
assert not rk.distributed.is_initialized()
"""
SUM_BY_FILE = SUM.replace("timeout=60", "timeout=60, file=__import__('os').environ['MEETING']")
FORKS = """
import os
import rocmkern as rk
with rk.distributed.init("emulator:gfx942", timeout=60) as group:
    x = rk.ones(1, device=group.device)
    if os.fork() == 0:
        try:
            rk.distributed.all_reduce(x)
        except rk.errors.CollectiveError as error:
            print(error)
        raise SystemExit(0)
    os.wait()
    print(rk.distributed.all_reduce(x).tolist())
"""
DIES = """
import os, signal
import rocmkern as rk
group = rk.distributed.init("emulator:gfx942", timeout=60)
rk.distributed.barrier()
if group.rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
rk.distributed.barrier()
"""


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        (
            {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "MASTER_ADDR": "one", "MASTER_PORT": "5"},
            (3, 8, 1, "one", 5),
        ),
        (
            {
                "OMPI_COMM_WORLD_RANK": "1",
                "OMPI_COMM_WORLD_SIZE": "2",
                "OMPI_COMM_WORLD_LOCAL_RANK": "1",
                "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
            },
            (1, 2, 1, "127.0.0.1", 29500),
        ),
        ({"PMI_RANK": "0", "PMI_SIZE": "2", "MPI_LOCALRANKID": "0", "MPI_LOCALNRANKS": "1"}, (0, 2, 0, None, 29500)),
        ({"SLURM_PROCID": "5", "SLURM_NTASKS": "8", "SLURM_LOCALID": "1"}, (5, 8, 1, None, 29500)),
        ({"RANK": "0", "WORLD_SIZE": "1"}, (0, 1, 0, "127.0.0.1", 29500)),
    ],
)
def test_launchers_say_it_in_the_environment(environment: dict[str, str], expected: tuple[object, ...]) -> None:
    """torchrun, Open MPI, Intel MPI and Slurm; the first process is here only where all of them are."""
    found = place(environment)
    assert (found.rank, found.size, found.local_rank, found.address, found.port) == expected


@pytest.mark.parametrize(
    ("environment", "text"),
    [
        (
            {},
            "no RANK in the environment; start the processes by torchrun, mpirun or srun, or pass rank and world_size",
        ),
        ({"RANK": "0"}, "no WORLD_SIZE in the environment"),
        ({"RANK": "one", "WORLD_SIZE": "2"}, "RANK='one' in the environment is no number; correct it"),
        ({"RANK": "2", "WORLD_SIZE": "2"}, "rank 2 of 2 processes; ranks count from 0"),
    ],
)
def test_an_environment_that_does_not_say_enough(environment: dict[str, str], text: str) -> None:
    """The error names the variable."""
    with pytest.raises(ConfigError, match=text):
        place(environment)


def test_a_first_process_elsewhere_needs_its_address() -> None:
    """Where a launcher does not say it and some processes run on other hosts."""
    here = place({"SLURM_PROCID": "5", "SLURM_NTASKS": "8"} | {"SLURM_LOCALID": "1"})
    with pytest.raises(ConfigError, match="no MASTER_ADDR in the environment; set it to the first process's host, or"):
        meet(here, None, 1.0)


def test_processes_meet_beside_another_program() -> None:
    """PyTorch may listen at the port that the launcher names, and says nothing: the ports behind it are tried."""
    with socket.create_server(("127.0.0.1", free_port())) as other:
        found = ended(started(SUM, 2, MASTER_PORT=str(other.getsockname()[1])))
    assert [out.strip() for _, out, _ in found] == ["[1, 3, 5] 0 2", "[1, 3, 5] 1 2"], found


def test_processes_meet_by_a_file(tmp_path: Path) -> None:
    """One that is left of a job that died does not mislead them, and theirs is gone afterwards."""
    file = tmp_path / "meeting"
    file.write_text(f'["127.0.0.1", {free_port()}, "of another job"]')
    found = ended(started(SUM_BY_FILE, 2, MEETING=str(file)))
    assert [out.strip() for _, out, _ in found] == ["[1, 3, 5] 0 2", "[1, 3, 5] 1 2"], found
    assert list(tmp_path.iterdir()) == []


def test_a_killed_process_is_told_to_those_that_wait() -> None:
    """At once, not after the time-out; whoever hears of it second may be told of the first that gave up."""
    first, killed, third = ended(started(DIES, 3))
    assert killed[0] == -9
    for status, _, error in (first, third):
        assert status == 1
        assert "CollectiveError: barrier: rank" in error and "see its own error" in error
    assert "rank 1 ended meanwhile" in first[2] + third[2]


def test_a_forked_child_has_no_part_in_the_job() -> None:
    """It is told so, and neither its use of the group nor its end reaches the others."""
    for rank, (status, out, error) in enumerate(ended(started(FORKS, 2))):
        told = f"group of 2: this process was forked from rank {rank}; start each process of a job anew"
        assert (status, out.splitlines()) == (0, [told, "[2.0]"]), error


def test_nobody_at_the_address() -> None:
    """The error says where the first process was looked for."""
    here = place({"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port := free_port())})
    with pytest.raises(CollectiveTimeout, match=rf"init: no first process at 127\.0\.0\.1:{port} within 0\.2 s; start"):
        meet(here, None, 0.2)


def test_a_rank_that_is_there_twice_is_refused() -> None:
    """And so is one that counts other processes."""
    variables = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    first = meet(place({"RANK": "0", **variables}), None, 60.0)
    second = meet(place({"RANK": "1", **variables}), None, 60.0)
    with pytest.raises(
        ConfigError, match="rank 1 is refused: another process has rank 1; start each rank of a job once"
    ):
        meet(place({"RANK": "1", **variables}), None, 60.0)
    with pytest.raises(ConfigError, match="it is one of 3 processes, the first one of 2"):
        meet(place({"RANK": "2", **variables, "WORLD_SIZE": "3"}), None, 60.0)
    second.close()
    first.close()
