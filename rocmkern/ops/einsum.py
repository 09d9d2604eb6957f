"""Sums of products by Einstein's convention, in NumPy's notation."""

from __future__ import annotations

from math import prod

from attrs import frozen

from rocmkern.dtypes import bool_
from rocmkern.engine.operation import planned
from rocmkern.errors import DTypeError, ShapeError
from rocmkern.layout import Layout
from rocmkern.ops.casting import cast, duplicate
from rocmkern.ops.elementwise import as_tensor, device_and_dtype
from rocmkern.ops.linear import matmul
from rocmkern.ops.manipulation import broadcast_to, reshape
from rocmkern.ops.reduction import sum
from rocmkern.ops.rows_binary import multiply
from rocmkern.tensor import Tensor

Label = str | int  # an axis by its letter; one of an ellipsis by its place from the right, -1, -2, …


@planned
def einsum(subscripts: str, /, *operands: Tensor) -> Tensor:
    """The sums of products over the axes whose letters the result lacks: `"ij,jk->ik"` is a matrix product.

    A letter stands for one axis of an operand and has one length everywhere (or 1, which is repeated); twice in an
    operand, of one length there, it is the diagonal. `...` stands for the axes that no letter names, which broadcast.
    Without `->` the result has the letters that occur once, in order of the alphabet. Operands are taken from left to
    right.

    Raises ShapeError where subscripts and shapes don't fit, DTypeError for bool.
    """
    if not operands:
        raise ShapeError("einsum: no operands; give one for each part of the subscripts")
    given = [as_tensor("einsum", x) for x in operands]
    _, dtype = device_and_dtype("einsum", *given)
    if dtype is bool_:
        raise DTypeError("einsum: dtype bool; it takes a number dtype, cast it first")
    terms, result = _parsed(subscripts, [x.ndim for x in given])
    lengths = _lengths(subscripts, terms, given)
    factors = [_Factor.of(cast(x, dtype), term, lengths) for x, term in zip(given, terms, strict=True)]
    product = factors[0]
    for i, factor in enumerate(factors[1:], 1):
        later = {label for f in factors[i + 1 :] for label in f.labels}
        product = product.times(factor, later.union(result))
    alone = product.summed(set(result)).along(result)
    return duplicate(alone) if alone.memory in [x.memory for x in given] else alone


def _parsed(subscripts: str, ndims: list[int]) -> tuple[list[list[Label]], list[Label]]:
    """The labels of each operand's axes and of the result's."""
    if not isinstance(subscripts, str):
        raise DTypeError(f"einsum: subscripts {type(subscripts).__name__}; give a string such as 'ij,jk->ik' first")
    text = subscripts.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    parts = inputs.split(",")
    if len(parts) != len(ndims):
        raise ShapeError(f"einsum: {subscripts!r} for {len(ndims)} operands; it names {len(parts)}")
    terms = [_labels(subscripts, part, ndim) for part, ndim in zip(parts, ndims, strict=True)]
    rest = sorted({label for term in terms for label in term if isinstance(label, int)})
    letters = [label for term in terms for label in term if isinstance(label, str)]
    if not arrow:
        return terms, [*rest, *sorted(label for label in {*letters} if letters.count(label) == 1)]
    wanted = _labels(subscripts, output, len(output.replace("...", "")) + (len(rest) if "..." in output else 0))
    unknown = [label for label in wanted if isinstance(label, str) and label not in letters]
    if unknown or len({*wanted}) != len(wanted):
        raise ShapeError(f"einsum: result {output!r} of {subscripts!r}; it takes letters of the operands, each once")
    return terms, wanted


def _labels(subscripts: str, part: str, ndim: int) -> list[Label]:
    before, dots, after = part.partition("...")
    if any(not (c.isascii() and c.isalpha()) for c in before + after):
        raise ShapeError(f"einsum: {part!r} in {subscripts!r}; it takes letters, one '...', commas and one '->'")
    spare = ndim - len(before) - len(after)
    if spare < 0 or (spare and not dots):
        raise ShapeError(f"einsum: {part!r} in {subscripts!r} for {ndim} dimensions; name each of them")
    return [*before, *range(-spare, 0), *after]


def _lengths(subscripts: str, terms: list[list[Label]], operands: list[Tensor]) -> dict[Label, int]:
    result: dict[Label, int] = {}
    for term, x in zip(terms, operands, strict=True):
        own: dict[Label, int] = {}
        for label, n in zip(term, x.shape, strict=True):
            if own.setdefault(label, n) != n:
                raise ShapeError(f"einsum: lengths {own[label]} and {n} of a diagonal in {subscripts!r}; make them one")
            known = result.get(label, 1)
            if n not in (1, known) and known != 1:
                raise ShapeError(f"einsum: lengths {known} and {n} of one axis in {subscripts!r}; they must agree")
            result[label] = known if n == 1 else n
    return result


@frozen(eq=False)
class _Factor:
    """A tensor whose axes have labels, each once."""

    tensor: Tensor
    labels: tuple[Label, ...]

    @classmethod
    def of(cls, x: Tensor, term: list[Label], lengths: dict[Label, int]) -> _Factor:
        """An operand as a view: all axes in their full length, a repeated letter as the diagonal."""
        wide = broadcast_to(x, tuple(lengths[label] for label in term)).layout
        steps: dict[Label, int] = {}
        for label, step in zip(term, wide.strides, strict=True):
            steps[label] = steps.get(label, 0) + step
        layout = Layout(tuple(lengths[label] for label in steps), tuple(steps.values()), wide.offset)
        return cls(x.view(layout), tuple(steps))

    def summed(self, kept: set[Label]) -> _Factor:
        """Without the axes whose labels nobody wants."""
        gone = tuple(i for i, label in enumerate(self.labels) if label not in kept)
        if not gone:
            return self
        return _Factor(
            sum(self.tensor, axis=gone, dtype=self.tensor.dtype), tuple(la for la in self.labels if la in kept)
        )

    def along(self, labels: list[Label]) -> Tensor:
        """The axes in that order, of length 1 where there is none of a label."""
        order = [self.labels.index(label) for label in labels if label in self.labels]
        layout = self.tensor.layout.permute(order)
        for at, label in enumerate(labels):
            layout = layout if label in self.labels else layout.expand(at)
        return self.tensor.view(layout)

    def times(self, other: _Factor, kept: set[Label]) -> _Factor:
        """The product, summed over what is not kept: a matrix product for each place in the axes that both keep."""
        left, right = self.summed(kept.union(other.labels)), other.summed(kept.union(self.labels))
        shared = [label for label in left.labels if label in right.labels]
        inner, batch = [label for label in shared if label not in kept], [label for label in shared if label in kept]
        rows, columns = ([label for label in f.labels if label not in shared] for f in (left, right))
        labels = [*batch, *rows, *columns]
        if not inner:
            return _Factor(multiply(left.along(labels), right.along(labels)), tuple(labels))
        a, b = left.along([*batch, *rows, *inner]), right.along([*batch, *inner, *columns])
        batches, shape = (
            a.shape[: len(batch)],
            (*a.shape[: len(batch) + len(rows)], *b.shape[len(batch) + len(inner) :]),
        )
        depth = prod(a.shape[len(batch) + len(rows) :])
        product = matmul(
            reshape(a, (*batches, prod(a.shape[len(batch) : len(batch) + len(rows)]), depth)),
            reshape(b, (*batches, depth, prod(b.shape[len(batch) + len(inner) :]))),
        )
        return _Factor(reshape(product, shape), tuple(labels))
