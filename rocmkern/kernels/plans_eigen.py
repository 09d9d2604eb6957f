"""Launch plans of eigenvalues and singular values: a workgroup a matrix, whose lines teams of lanes take."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from rocmkern.drivers.protocol import DeviceInfo
from rocmkern.kernels.plans import BLOCK, LaunchPlan, power_of_two

_LANES: Final = 8  # of a line; more of them join more often what they have summed
_A_UNIT: Final = 8  # workgroups of a compute unit that are at work side by side
_MOST_SCRATCH: Final = 1 << 28  # bytes, unless one workgroup takes more


@frozen
class MatricesPlan:
    """A launch, and the elements of scratch that all its workgroups take."""

    launch: LaunchPlan
    scratch: int


def hermitian(count: int, n: int, itemsize: int, device: DeviceInfo) -> MatricesPlan:
    """The plan of eigh_* for `count` matrices of n × n."""
    even = n + n % 2
    return _matrices(count, n, 2 * even * even + even, itemsize, device)


def singular(count: int, rows: int, columns: int, kept: int, itemsize: int, device: DeviceInfo) -> MatricesPlan:
    """The plan of svd_* for `count` matrices of rows × columns and `kept` vectors of the longer side."""
    short, long = min(rows, columns), max(rows, columns)
    scratch = max(kept, short) * (long + 1) + short * short + 2 * (short + long)
    return _matrices(count, long, scratch, itemsize, device)


def general(count: int, n: int, itemsize: int, device: DeviceInfo) -> MatricesPlan:
    """The plan of eig_* for `count` matrices of n × n."""
    return _matrices(count, n, 3 * n * n + n, itemsize, device)


def _matrices(count: int, length: int, scratch: int, itemsize: int, device: DeviceInfo) -> MatricesPlan:
    """Lines of `length` elements; `scratch` elements a workgroup."""
    lanes = min(power_of_two(length), _LANES)
    block = min(BLOCK, max(device.wave_size, lanes * power_of_two(length // 2)))
    most = max(1, min(_A_UNIT * device.compute_units, _MOST_SCRATCH // (scratch * itemsize)))
    grid = min(count, most)
    why = f"a workgroup a matrix, {lanes} lane{'s' if lanes > 1 else ''} a line of {length}"
    launch = LaunchPlan((grid, 1, 1), (lanes, block // lanes, 1), 0, "matrices", why)
    return MatricesPlan(launch, grid * scratch)
