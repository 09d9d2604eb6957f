"""Plans of Fourier transforms: what a block may hold, and that passes reach every element once."""

from __future__ import annotations

import re
from math import prod

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocmkern.errors import ShapeError
from rocmkern.kernels import files, plans_fft
from rocmkern.kernels.plans import WORK_ITEMS
from rocmkern.kernels.plans_fft import FftPlan, Rows
from tests.kernels.test_plans import device

SIZES = st.integers(1, 5000) | st.integers(1, 1 << 29) | st.sampled_from([13**5, 11**5, 7**7, 1 << 30, 3**18])


def planned(n: int, itemsize: int, rows: int = 3) -> FftPlan:
    source, target = Rows("x", (n,), 1, n), Rows("y", (n,), 1, n)
    return plans_fft.transform(n, itemsize, (rows,), source, target, False, device())


def test_the_figures_are_those_of_the_kernels() -> None:
    """What a block holds, and where a pass's words end, is written in the header too."""
    header = (files.sources() / "include" / "fft.hpp").read_text()
    found = dict(re.findall(r"constexpr u32 (\w+)(?:<F>)? = ([^;]+);", header))
    assert (found["fft_points"], found["fft_most_lines"]) == (str(plans_fft.POINTS), str(plans_fft.MOST_LINES))
    sizes = plans_fft.block_size(16), plans_fft.block_size(8)
    assert found["fft_block_size"] == "sizeof(F) == 8 ? {} : {}".format(*sizes)
    assert found["words"] == str(len(planned(8, 8).passes[0].words) - 3)


@given(SIZES, st.sampled_from([8, 16]), st.integers(1, 1 << 20))
@example(1 << 30, 16, 1)
@example((1 << 29) - 3, 16, 1)
@example((1 << 30) - 35, 8, 1)
def test_lines_fit_a_block(n: int, itemsize: int, rows: int) -> None:
    """A pass's lines fit LDS and registers with the gaps between them, its stages multiply to their length."""
    plan = planned(n, itemsize, rows)
    most = plans_fft.capacity(itemsize)
    assert prod(step.n for step in plan.passes) == (plan.padded or n) ** (2 if plan.padded > most else 1)
    assert plan.padded == 0 or plan.padded >= 2 * n - 1
    for step in plan.passes:
        length, pitch, lines, us, vs = step.words[:5]
        last = (length - 1) + (length - 1) // 16  # where the last element of a line lies
        assert lines * length <= most and last < pitch and lines * pitch <= most + most // 16
        assert 1 <= lines <= plans_fft.MOST_LINES and us * vs * length == (plan.padded or n)
        digits = [step.words[8] >> 4 * i & 15 for i in range(16)]
        assert prod(d for d in digits if d) == length and set(digits) <= {0, 2, 3, 4, 5, 7, 8, 11, 13}
        assert step.launch.grid[0] * step.launch.block[0] <= WORK_ITEMS


@pytest.mark.parametrize("n", [1, 360, 2048, 4096, 13**5, 2053])
@pytest.mark.parametrize("itemsize", [8, 16])
def test_passes_reach_every_element_once(n: int, itemsize: int) -> None:
    """The positions of a pass's lines at either end are all of a row's."""
    plan = planned(n, itemsize)
    whole = plan.padded or n
    for step in plan.passes:
        length, us, vs = step.words[0], *step.words[3:5]
        u, v, i = np.ogrid[:us, :vs, :length]
        for words in (step.words[12:], step.words[18:]):
            positions = u * words[1] + v * words[2] + i * words[3]
            assert (np.bincount(positions.ravel(), minlength=whole) == 1).all()


@pytest.mark.parametrize(("n", "itemsize"), [(1 << 32, 8), ((1 << 31) + 11, 8), (1 << 31, 16), (3**19, 16)])
def test_lengths_beyond_three_passes_are_refused(n: int, itemsize: int) -> None:
    """Positions are u32, those of a convolution too; the message names a length that works."""
    with pytest.raises(ShapeError, match=rf"fft: {n} elements .* up to (\d+) never do") as found:
        planned(n, itemsize)
    planned(int(re.findall(r"\d+", str(found.value))[-1]), itemsize)
