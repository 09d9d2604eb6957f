"""What arrives at RCCL: hip-python's bindings of it against a library that records, on HIP's stand-in."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np
import pytest

import rocmkern as rk
from rocmkern import distributed
from rocmkern.distributed import Group
from rocmkern.distributed.places import Place
from rocmkern.distributed.rendezvous import meet
from rocmkern.drivers import collective_library
from rocmkern.errors import CollectiveError, DriverUnavailable
from tests import doubles, hip_double
from tests.distributed.jobs import free_port
from tests.doubles import Double


@functools.cache
def library() -> Double:
    pytest.importorskip("rocm.bindings.rccl", reason="hip-python[systems] has it")
    return Double(doubles.compiled("nccl_double.c", "librccl.so"))


@pytest.fixture
def rccl() -> Iterator[Double]:
    found = library()
    collective_library.rccl.cache_clear()
    with hip_double.present():
        found.reset()
        yield found
    collective_library.rccl.cache_clear()


def test_calls_arrive_by_the_bindings(rccl: Double) -> None:
    """With the codes of NCCL, which are RCCL's, on the stream that is named."""
    rendezvous = meet(Place(0, 1, 0, "127.0.0.1", free_port()), None, 120.0)
    with Group(rk.Device("hip:1"), (0,), 0, rendezvous) as group:
        assert group.backend.name == "RCCL"
        x = rk.asarray(np.arange(6, dtype=np.float32), device=group.device)
        stream = group.device.create_stream()
        found = distributed.all_reduce(x, "max", group=group, stream=stream)
        distributed.all_gather(x, group=group)
        rccl.fail("ncclAllReduce", 5)
        with pytest.raises(CollectiveError, match=r"ncclAllReduce: invalid usage \(5\): .*; set NCCL_DEBUG"):
            distributed.all_reduce(x, group=group)
        stream.synchronize()
        np.testing.assert_array_equal(found.numpy(), x.numpy())
    rendezvous.close()
    assert rccl.log() == [
        "ncclCommInitRank 1 7 0",
        "ncclAllReduce 6 type 7 op 2 stream 1",
        "ncclAllGather 24 type 1 stream 0",
        "ncclCommDestroy",
    ]


def test_bindings_that_are_not_there_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that installs them."""
    collective_library.rccl.cache_clear()
    monkeypatch.setattr(collective_library, "_RCCL", (("rocmkern_has_no.such", "rocmkern_has_no.such"),))
    with pytest.raises(
        DriverUnavailable, match=r"rccl: hip-python's bindings of it are not there; pip install 'hip-py"
    ):
        collective_library.rccl()
