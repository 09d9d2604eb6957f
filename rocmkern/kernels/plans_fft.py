"""Plans of Fourier transforms.

Lines that LDS holds take one pass, longer ones a pass for each of two or three factors of their length. Lengths with a
large prime factor are convolutions of a longer transform (Bluestein). An even number of real elements is transformed as
half as many complex ones where those take one pass.

The figures here are those of kernels_hip/include/fft.hpp; the tests hold them together.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Final, Literal

from attrs import evolve, frozen

from rocmkern.drivers.protocol import DeviceInfo
from rocmkern.errors import ShapeError
from rocmkern.kernels.plans import WORK_ITEMS, Axes, LaunchPlan

POINTS: Final = 8  # that a thread transforms
MOST_LINES: Final = 128  # of a block
PRIMES: Final = (13, 11, 7, 5, 3)
LONGEST: Final = (1 << 32) - 1  # positions are u32
_PADDED: Final = (1, 3, 5, 7, 9)  # times a power of two: the lengths of Bluestein's convolutions
_WORDS: Final = 24  # of a pass, before its dims and strides

Place = Literal["x", "scratch", "longer", "y"]
Tables = tuple[int, int]  # a length and the bits that the fine table's index has


@frozen
class Rows:
    """Rows of a tensor that are transformed: the strides of the axes around them, and of their elements."""

    place: Place
    strides: Axes
    stride: int
    limit: int  # what a row has of elements, or what is wanted of them
    is_real: bool = False
    is_hermitian: bool = False
    is_conjugate: bool = False


@frozen
class Step:
    """Element i of line (u, v) of a row is element u·by_u + v·by_v + i·by_i of it."""

    by_u: int
    by_v: int
    by_i: int


@frozen
class FftPass:
    """One launch of fft_lines: where from and to, its words and launch, and what tables it multiplies by."""

    source: Place
    target: Place
    n: int
    words: tuple[int, ...]
    launch: LaunchPlan
    twiddles: Tables | None
    chirp_in: bool = False
    between: bool = False
    chirp_out: bool = False
    spectrum_out: bool = False
    halved: bool = False


@frozen
class FftPlan:
    """The passes of a transform, and the elements of scratch that a row takes between them."""

    n: int
    padded: int  # the length of Bluestein's convolution, 0 without one
    scratch: int
    passes: tuple[FftPass, ...]


def block_size(itemsize: int) -> int:
    """Threads of a block, by the size of a complex element."""
    return 128 if itemsize == 16 else 256


def capacity(itemsize: int) -> int:
    """Elements that a block transforms at most."""
    return POINTS * block_size(itemsize)


def factors(n: int) -> tuple[int, ...] | None:
    """The factors of the stages that transform n elements; None where a prime factor is larger than 13."""
    found = []
    for factor in (8, 4, 2, *PRIMES):
        while n % factor == 0:
            found.append(factor)
            n //= factor
    return tuple(found) if n == 1 else None


def stages(n: int) -> int:
    """The same as digits of one number, the first stage's the lowest."""
    return sum(factor << 4 * i for i, factor in enumerate(factors(n) or ()))


def lengths(n: int, most: int) -> tuple[int, ...] | None:
    """One to three factors of n, none above `most` and as alike as can be; None where there are none such."""
    if factors(n) is None:
        return None
    if n <= most:
        return (n,)
    divisors = [d for d in range(most, 1, -1) if n % d == 0]
    pairs = [(d, n // d) for d in divisors if n // d <= most]
    triples = ((d, e, n // d // e) for d in divisors for e in divisors if n // d % e == 0 and n // d // e <= most)
    return min(pairs or triples, key=max, default=None)


def padded(n: int) -> int:
    """The length of the convolution that transforms n elements."""
    return min(odd << max(-(-(2 * n - 1) // odd) - 1, 0).bit_length() for odd in _PADDED)


def table_shift(n: int) -> int:
    """Bits of the fine table's index, which is about as long as the coarse one."""
    return (n.bit_length() + 1) // 2


def takes_one_pass(n: int, itemsize: int) -> bool:
    """Whether a line is transformed by one launch, which reads it once whatever its stride is."""
    most = capacity(itemsize)
    return n <= most and (factors(n) is not None or padded(n) <= most)


def halves(n: int, itemsize: int) -> bool:
    """Whether n real elements are transformed as pairs."""
    return n % 2 == 0 and n // 2 <= capacity(itemsize) and factors(n // 2) is not None


def transform(
    n: int, itemsize: int, dims: Axes, source: Rows, target: Rows, inverse: bool, info: DeviceInfo
) -> FftPlan:
    """The plan of transforms of n elements over rows of these dims. Raises ShapeError for more than passes can take."""
    planner = _Planner(itemsize, dims, n, info)
    of_real = source.is_real and not source.is_hermitian and not target.is_real and target.limit == n // 2 + 1
    if (of_real or (source.is_hermitian and target.is_real)) and halves(n, itemsize):
        ends = evolve(source, is_conjugate=inverse and not of_real), evolve(target, is_conjugate=inverse)
        return FftPlan(n, 0, 0, (planner.pairs(*ends),))
    most = capacity(itemsize)
    parts = lengths(n, most)
    longer = padded(n) if parts is None else 0
    whole = lengths(longer, most) if longer else parts
    if whole is None or max(n, longer) > LONGEST:
        always = min(most**3 // 2, 1 << 30)
        raise ShapeError(f"fft: {n} elements of {itemsize} bytes take more than three passes; up to {always} never do")
    source = evolve(source, is_conjugate=inverse)
    if not longer:
        passes = tuple(planner.chain(whole, source, evolve(target, is_conjugate=inverse)))
    else:
        last = evolve(target, is_conjugate=not inverse)
        passes = tuple(planner.convolution(longer, whole, source, last))
    return FftPlan(n, longer, longer or n, passes)


@frozen
class _Planner:
    itemsize: int
    dims: Axes
    full: int
    info: DeviceInfo

    def scratch(self, place: Place, length: int) -> Rows:
        """Contiguous rows."""
        strides, step = [], length
        for n in reversed(self.dims):
            strides.append(step)
            step *= n
        return Rows(place, tuple(reversed(strides)), 1, length)

    def pairs(self, source: Rows, target: Rows) -> FftPass:
        """One pass over pairs of real elements, at one end or the other."""
        step = Step(0, 0, 1)
        found = self.one(self.full // 2, (1, 1), (source, step), (target, step), 0, False, halved=True)
        return evolve(found, halved=True)

    def convolution(self, longer: int, whole: tuple[int, ...], source: Rows, target: Rows) -> Iterator[FftPass]:
        """The chirped rows' transform times that of the chirp, conjugated, is transformed again."""
        if len(whole) == 1:
            (only,) = self.chain(whole, source, target, conjugate_factor=True)
            yield evolve(only, chirp_in=True, between=True, chirp_out=True)
            return
        middle = self.scratch("longer", longer)
        there = list(self.chain(whole, source, evolve(middle, is_conjugate=True)))
        yield evolve(there[0], chirp_in=True)
        yield from there[1:-1]
        yield evolve(there[-1], spectrum_out=True)
        *back, last = evolve(self, full=longer).chain(whole, middle, target, conjugate_factor=True)
        yield from back
        yield evolve(last, chirp_out=True)

    def chain(
        self, whole: tuple[int, ...], source: Rows, target: Rows, *, conjugate_factor: bool = False
    ) -> Iterator[FftPass]:
        """The passes of one transform, a factor of its length each."""
        total, first, last = prod(whole), whole[0], whole[-1]
        if len(whole) == 1:
            alone = Step(0, 0, 1)
            yield self.one(total, (1, 1), (source, alone), (target, alone), 0, conjugate_factor)
            return
        between = self.scratch("scratch", total)
        rest = total // first
        columns = Step(0, 1, rest)
        yield self.one(first, (1, rest), (source, columns), (between, columns), total, False)
        inner = evolve(self, full=total)
        for n in whole[1:-1]:
            step = Step(rest, 1, last)
            yield inner.one(n, (first, last), (between, step), (between, step), rest, False)
        outer = rest // last
        ends = (between, Step(last, rest, 1)), (target, Step(first, 1, first * outer))
        yield inner.one(last, (outer, first), *ends, 0, conjugate_factor)

    def one(
        self,
        n: int,
        lines: tuple[int, int],
        source: tuple[Rows, Step],
        target: tuple[Rows, Step],
        twiddled: int,
        conjugate_factor: bool,
        *,
        halved: bool = False,
    ) -> FftPass:
        """A pass over lines of n elements, whose results are turned by roots of unity of `twiddled`."""
        (rows_in, step_in), (rows_out, step_out) = source, target
        shift = table_shift(twiddled) if twiddled else 0
        pitch = (n - 1 + (n - 1 >> 4) + 1) | 1
        every = prod(self.dims) * prod(lines)
        per_block, launch = self.launch(n, pitch, every)
        flags = rows_in.is_hermitian | conjugate_factor << 1 | halved << 2
        words = (n, pitch, per_block, *lines, self.full, shift, flags, stages(n), prod(self.dims), len(self.dims), 0)
        ends = (*self.end(rows_in, step_in, prod(lines)), *self.end(rows_out, step_out, prod(lines)))
        layout = (*self.dims, *rows_in.strides, *rows_out.strides)
        assert len(words) + len(ends) == _WORDS
        twiddles = (twiddled, shift) if twiddled else None
        return FftPass(rows_in.place, rows_out.place, n, (*words, *ends, *layout), launch, twiddles)

    def end(self, rows: Rows, step: Step, inner: int) -> tuple[int, ...]:
        """The words of a pass's source or target."""
        beside = step.by_v * rows.stride if inner > 1 else rows.strides[-1] if rows.strides else 0
        by_lines = 0 < abs(beside) < abs(step.by_i * rows.stride)
        flags = by_lines | rows.is_real << 1 | rows.is_conjugate << 2
        return rows.stride, step.by_u, step.by_v, step.by_i, rows.limit, flags

    def launch(self, n: int, pitch: int, every: int) -> tuple[int, LaunchPlan]:
        """Lines of a block: what LDS holds, or fewer where that would leave compute units without work."""
        block, most = block_size(self.itemsize), capacity(self.itemsize)
        fit = min(MOST_LINES, most // n, (most + most // 16) // pitch)
        lines = max(1, min(fit, max(-(-every // self.info.compute_units), min(fit, 8))))
        grid = min(-(-every // lines), self.info.max_grid[0], WORK_ITEMS // block)
        why = f"{lines} line{'s' if lines > 1 else ''} of {n} a block"
        return lines, LaunchPlan((grid, 1, 1), (block, 1, 1), 0, "lines", why)
