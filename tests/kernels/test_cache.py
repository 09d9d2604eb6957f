"""Packaged kernels by name: which file serves which device, and the thread's cache."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

import rocmkern as rk
from rocmkern import targets
from rocmkern.engine.operation import forget_plans
from rocmkern.errors import ArgumentError, ClosedError, KernelNotFound, ModuleNotShipped, TargetNotBuilt
from rocmkern.kernels import cache, files, shipped
from rocmkern.kernels.cache import KernelCache
from rocmkern.ops.launch import kernel
from rocmkern.runtime import Device
from tests import samples
from tests.hip_double import Double


def test_packaged_kernel_runs(device: Device) -> None:
    """affine_f32 from the package is x * mul + add, called with Python numbers."""
    x = np.arange(1000, dtype=np.float32)
    inp, out = device.alloc(x.nbytes), device.alloc(x.nbytes)
    inp.copy_from_host(x)
    rk.get_kernel("affine", "affine_f32", device)(x.size, 0, None, inp, out, 2.0, 1, grid=4, block=256)
    got = np.empty_like(x)
    out.copy_to_host(got)
    np.testing.assert_array_equal(got, x * 2 + 1)


def test_packaged_kernel_takes_tensors(device: Device) -> None:
    """A tensor is a pointer to its first element; one of another dtype is refused by name."""
    x = rk.arange(10, dtype=rk.float32, device=device)
    out = rk.zeros(10, dtype=rk.float32, device=device)
    affine = rk.get_kernel("affine", "affine_f32", device)
    affine(7, 0, None, x[3:], out, 2.0, 1.0, grid=1, block=64)
    np.testing.assert_array_equal(out.numpy(), [*(np.arange(3, 10) * 2 + 1), 0, 0, 0])
    with pytest.raises(ArgumentError, match=r"argument 3 \(inp\) points to float64, float32 was wanted; cast it first"):
        affine(7, 0, None, rk.zeros(7, dtype=rk.float64, device=device), out, 2.0, 1.0, grid=1, block=64)


def test_default_device_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """get_kernel without a device takes the default one, and follows the variable."""
    for name in ("emulator:gfx90a", "emulator:gfx942"):
        monkeypatch.setenv("ROCMKERN_DEVICE", name)
        assert rk.get_kernel("affine", "affine_f32").module.device.name == name


def test_a_closed_default_device_is_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing it ends the use of that object, not of the device."""
    monkeypatch.setenv("ROCMKERN_DEVICE", "emulator:gfx90a")
    rk.zeros(()).device.close()
    assert rk.ones((2,)).tolist() == [1, 1]


def test_second_request_is_answered_from_the_cache(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same function, and no file is looked for again."""
    first = rk.get_kernel("affine", "affine_f16", device)
    monkeypatch.setattr(cache, "shipped", None)
    assert rk.get_kernel("affine", "affine_f16", device) is first
    assert rk.get_kernel("affine", "affine_f64", device).module is first.module


def test_each_thread_has_its_own_cache(device: Device) -> None:
    """Functions are not shared between threads, so that no lookup takes a lock."""
    mine, found = rk.get_kernel("affine", "affine_f32", device), []
    thread = threading.Thread(target=lambda: found.append(rk.get_kernel("affine", "affine_f32", device)))
    thread.start()
    thread.join()
    assert found[0] is not mine
    assert found[0].module is not mine.module


def test_closed_module_is_loaded_again(device: Device) -> None:
    """clear() forgets; a module that somebody closed is replaced, in operations too."""
    held = KernelCache.current()
    kernel(device, "affine_f32").function.module.close()  # operations may hold one of before a clear()
    forget_plans()
    x = rk.ones((2,), device=device)
    assert rk.multiply(x[::-1], 3.0).tolist() == [3, 3]
    module = held.module("affine", device)
    assert kernel(device, "affine_f32").function.module is module
    module.close()
    assert not held.module("affine", device).is_closed
    assert not rk.get_kernel("affine", "affine_f32", device).module.is_closed
    with pytest.raises(ClosedError, match="its module is closed; load it again"):
        x[::-1] * 3.0
    assert (x[::-1] * 3.0).tolist() == [3, 3]
    held.clear()
    assert rk.get_kernel("affine", "affine_f32", device).module is not module


def test_missing_names(device: Device) -> None:
    """A family that does not exist, a dtype that a function lacks, a misspelt function: each lists what there is."""
    with pytest.raises(ModuleNotShipped, match=r"no kernel family 'afine'; there are affine$"):
        rk.get_kernel("afine", "affine_f32", device)
    with pytest.raises(
        KernelNotFound, match=r"no kernel 'affine_f8' in affine\.(hsaco|ptx) for [\w-]+; it has affine for .*f16"
    ):
        rk.get_kernel("affine", "affine_f8", device)
    with pytest.raises(KernelNotFound, match="did you mean affine_f32"):
        rk.get_kernel("affine", "afine_f32", device)


def test_wrong_arguments_name_the_parameter(device: Device) -> None:
    """Names and dtypes come from the catalogue."""
    affine, x = rk.get_kernel("affine", "affine_u8", device), device.alloc(8)
    with pytest.raises(ArgumentError, match=r"argument 5 \(mul\) is 300; uint8 holds 0 to 255"):
        affine(8, 0, None, x, x, 300, 0, grid=1, block=64)
    with pytest.raises(ArgumentError, match=r"argument 5 \(mul\) is the float 1\.5, uint8 was wanted"):
        affine(8, 0, None, x, x, 1.5, 0, grid=1, block=64)
    with pytest.raises(ArgumentError, match=r"argument 4 \(out\) is None; this parameter needs device memory"):
        affine(8, 0, None, x, None, 1, 0, grid=1, block=64)
    with pytest.raises(ArgumentError, match=r"affine_u8: 6 arguments came, 7 are wanted; affine_u8\(numel: uint64, "):
        affine(8, 0, None, x, x, 1, grid=1, block=64)


@pytest.mark.parametrize(
    ("arch", "shipped", "chosen"),
    [
        ("gfx90a:sramecc+:xnack-", ("gfx90a", "gfx942"), "gfx90a"),
        ("gfx90a:sramecc+:xnack-", ("gfx90a", "gfx90a:sramecc+:xnack-"), "gfx90a:sramecc+:xnack-"),
        ("gfx90a:sramecc+:xnack-", ("gfx90a:xnack-", "gfx90a:xnack+", "gfx90a"), "gfx90a:xnack-"),
        ("gfx942:sramecc+:xnack-", ("gfx9-4-generic",), "gfx9-4-generic"),
        ("gfx942:sramecc+:xnack-", ("gfx9-4-generic", "gfx942"), "gfx942"),
        ("gfx1031", ("gfx10-3-generic", "gfx1030"), "gfx10-3-generic"),
        ("gfx1151", targets.BUILT, "gfx11-generic"),
        ("gfx1201", targets.BUILT, "gfx12-generic"),
    ],
)
def test_best_code_object_for_a_device(arch: str, shipped: tuple[str, ...], chosen: str) -> None:
    """G19: exact with features, then stripped, then the generic family (ROCm/legacy-rocm-build issue 4208)."""
    assert targets.resolve(arch, shipped, "affine") == chosen


@pytest.mark.parametrize(
    ("arch", "shipped"),
    [("gfx1031", ("gfx1030",)), ("gfx906:sramecc-:xnack-", targets.BUILT), ("gfx90a:xnack-", ("gfx90a:xnack+",))],
)
def test_device_without_code_object(arch: str, shipped: tuple[str, ...]) -> None:
    """G19, G20: never a silent pick; one error says what was searched, what is shipped and the remedy."""
    with pytest.raises(TargetNotBuilt) as caught:
        targets.resolve(arch, shipped, "affine")
    base = arch.split(":")[0]
    message = str(caught.value)
    assert message.startswith(f"resolve: no affine built for {arch} (searched {arch}")
    assert message.endswith(f"built: {', '.join(shipped)}; build it with `rocmkern build --target {base}`")


def test_every_target_is_served() -> None:
    """MI200 to RDNA4: each device that has a row gets one of the six targets that are built."""
    assert {targets.resolve(name, targets.BUILT, "affine") for name in targets.TARGETS} == set(targets.BUILT)


def test_unshipped_arch_on_hip(double: Double) -> None:
    """A real device of an arch that nothing was built for: no call to HIP's loader, one clear error."""
    double.devices(1, "gfx906:sramecc+:xnack-", 0x2F, 0x51)
    with pytest.raises(TargetNotBuilt, match=r"no affine built for gfx906:sramecc\+:xnack- .*--target gfx906"):
        rk.get_kernel("affine", "affine_f32", rk.Device("hip:0"))
    assert double.log("hipModuleLoad") == []


def test_file_of_another_build_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A code object whose kernel has other arguments than the catalogue's is refused when the kernel is asked for."""
    origin = shipped.pieces("affine")["gfx942"].origin
    assert origin is not None
    monkeypatch.setattr(files, "code_objects", lambda: tmp_path)
    other = samples.compile_hip("KERNEL void affine_f32(unsigned n, float *out) {}")
    shipped.add("affine", "gfx942", other, origin)
    with pytest.raises(ValueError, match="affine_f32 has 2 arguments in the file, its signature 7; rebuild the file"):
        KernelCache().function("affine", "affine_f32", rk.Device("emulator:gfx942"))
