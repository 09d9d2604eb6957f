"""dask's processes: what goes between them, and which device each has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from dask.sizeof import sizeof
from distributed import Client, LocalCluster
from distributed.protocol import deserialize, serialize

import rocmkern as rk
from rocmkern import drivers, dtypes, errors
from rocmkern.dask.workers import WorkerDevices, number_of
from rocmkern.errors import ConfigError, DeviceOutOfMemory
from tests import cuda_double

DEVICES = ["emulator:gfx942", "emulator:gfx942:1"]


@pytest.fixture(scope="module", autouse=True)
def no_device_by_environment() -> Iterator[None]:
    """Which would be that of every worker."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(drivers.VARIABLE, raising=False)
        yield


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=lambda d: d.name)
def test_tensors_go_by_buffers(dtype: rk.DType) -> None:
    """All dtypes, whole or in strides, in as many frames as dask makes of them, and none of nothing."""
    x = rk.asarray(np.arange(24).reshape(4, 6).astype(dtype.numpy), device=DEVICES[1])
    for given in (x, x[:, ::-2], x[1:3], x[:0], x[0, 0]):
        header, frames = serialize(given, serializers=("dask",))
        assert header["serializer"] == "dask"
        for parts in (frames, [memoryview(frames[0])[:3], memoryview(frames[0])[3:]]):
            if len(parts) > 1 and "split-num-sub-frames" not in header:
                continue
            got = deserialize(header, parts)
            assert (got.dtype, got.device) == (dtype, x.device)
            np.testing.assert_array_equal(got.numpy(), given.numpy())


def test_what_the_host_can_address_is_not_copied() -> None:
    """An emulated device's memory is the frame itself."""
    x = rk.arange(6)
    _, (frame,) = serialize(x, serializers=("dask",))
    address = x.host_view().__array_interface__["data"][0]
    assert np.frombuffer(frame, np.uint8).__array_interface__["data"][0] == address


def test_between_gpus_memory_goes_as_it_is() -> None:
    """UCX takes what has `__cuda_array_interface__`, and fills memory of the kind on the other side."""
    with cuda_double.present():
        x = rk.asarray(np.arange(6, dtype=np.float32).reshape(2, 3), device="cuda:1")
        header, (frame,) = serialize(x, serializers=("cuda", "dask"))
        assert header["serializer"] == "cuda"
        assert frame.__cuda_array_interface__["data"][0] == x.address
        got = deserialize(header, [frame])
        assert (got.address, got.shape, got.device) == (x.address, (2, 3), x.device)
        np.testing.assert_array_equal(got.numpy(), x.numpy())
    header, _ = serialize(rk.ones(2), serializers=("cuda", "dask"))
    assert header["serializer"] == "dask"


def test_a_tensor_weighs_its_memory() -> None:
    """By which workers spill and pause."""
    assert sizeof(rk.zeros((100, 10))) == 4000


@pytest.mark.parametrize(("name", "number"), [(1, 1), ("3", 3), ("host-12", 12)])
def test_workers_are_numbered_by_their_names(name: object, number: int) -> None:
    """As LocalCluster and `dask worker --nworkers` name them."""
    assert number_of(name) == number


def test_a_worker_without_a_number_is_told() -> None:
    """And so is a plugin without devices."""
    with pytest.raises(ConfigError, match=r"worker 'tcp://127.0.0.1:80' has no number; start it with --name, or"):
        number_of("tcp://127.0.0.1:80")
    with pytest.raises(ConfigError, match="no devices; name one for each worker of a host"):
        WorkerDevices([])


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Two processes with an emulated device each."""
    folder = str(tmp_path_factory.mktemp("dask"))
    patient = {"distributed.comm.timeouts.connect": "300s", "distributed.comm.timeouts.tcp": "300s"}
    with (
        dask.config.set(patient),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, local_directory=folder,
            memory_limit="2GiB",
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        client.register_plugin(WorkerDevices(DEVICES, memory_limit=256 << 20))
        yield client


def test_each_worker_has_a_device(client: Client) -> None:
    """The one of its number, which tensors that come from elsewhere are put on."""
    found = client.run(lambda: rk.default_device().name)
    assert sorted(found.values()) == DEVICES
    x = client.scatter(rk.arange(3), broadcast=True)
    where = [
        client.submit(lambda x: x.device.name, x, workers=[worker], pure=False).result() for worker in sorted(found)
    ]
    assert where == [found[worker] for worker in sorted(found)]


def test_memory_of_a_device_is_limited(client: Client) -> None:
    """What a worker may take of it."""
    with pytest.raises(DeviceOutOfMemory, match=r"in use of the 268435456 that emulator:gfx942\S* is limited to"):
        client.submit(lambda: rk.zeros(1 << 27), pure=False).result()
    assert client.submit(lambda: rk.zeros(1 << 20).size, pure=False).result() == 1 << 20


def test_arrays_over_two_devices(client: Client) -> None:
    """Chunks on both go to each other for a product and a sum, and the result comes here."""
    values = np.random.default_rng(0).standard_normal((60, 20)).astype(np.float32)
    with dask.config.set({"array.backend": "rocmkern"}):
        x = da.from_array(values, chunks=(10, 10)).to_backend("rocmkern").persist()
        product, total = dask.compute(x.T @ x, x.sum(axis=0))
    assert isinstance(product, rk.Tensor)
    np.testing.assert_allclose(product.numpy(), values.T @ values, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(total.numpy(), values.sum(0), rtol=1e-4, atol=1e-4)


def work(seconds_: float, number: int) -> Any:
    """A task whose first run in a job ends its worker."""
    import os
    import signal
    import time
    from pathlib import Path

    mark = Path(os.environ["MARK"])
    if number == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(seconds_)
    return rk.ones(4) * number


@pytest.mark.filterwarnings("ignore")
def test_a_killed_worker_loses_nothing(client: Client, tmp_path: Any) -> None:
    """Its tasks, and the results that it had, are worked out again; its successor has its device."""
    mark = str(tmp_path / "mark")
    client.run(os.environ.__setitem__, "MARK", mark)
    client.register_plugin(_Marked(mark))
    futures = client.map(work, [0.01] * 8, range(8), pure=False)
    assert [x.tolist() for x in client.gather(futures)] == [[n] * 4 for n in range(8)]
    assert os.path.exists(mark)
    client.wait_for_workers(2, timeout=60)
    assert sorted(client.run(lambda: rk.default_device().name).values()) == DEVICES


class _Marked(WorkerDevices):
    """Tells later workers of the file too."""

    name = "marked"

    def __init__(self, mark: str) -> None:
        super().__init__(DEVICES)
        self.mark = mark

    def setup(self, worker: Any) -> None:
        os.environ["MARK"] = self.mark


ERRORS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.RocmkernError)]


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_errors_of_workers_keep_their_class(kind: type[Exception]) -> None:
    """With text and notes, as dask sends what a task raised."""
    from distributed.core import clean_exception, error_message

    try:
        raise kind("operation: fact; remedy")
    except kind as error:
        message = error_message(error)
    _, got, _ = clean_exception(message["exception"].data, message["traceback"].data)
    assert (type(got), str(got)) == (kind, "operation: fact; remedy")
