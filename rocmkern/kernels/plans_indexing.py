"""Plans of reading by index tensors."""

from __future__ import annotations

from rocmkern.drivers.protocol import DeviceInfo
from rocmkern.kernels.plans import VECTOR_BYTES, LaunchPlan, over_units


def index_select(slices: int, right: int, itemsize: int, device: DeviceInfo) -> LaunchPlan:
    """A plan for is_I_T that moves `slices` runs of `right` elements: 16 bytes a thread where runs divide into such.

    A launch for packs is right for unaligned memory too, where the kernel takes elements.
    """
    numel = slices * right
    if right * itemsize % VECTOR_BYTES == 0:
        units = numel * itemsize // VECTOR_BYTES
        return over_units(units, device, variant="packs", why="runs are whole 16-byte accesses, one a thread")
    return over_units(numel, device, variant="elements", why="runs end between 16-byte boundaries")
