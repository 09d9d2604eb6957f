"""What a newcomer gets wrong is an error of Python's class in our words, and costs the process nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import rocmkern as rk
from rocmkern.errors import DTypeError, IndexOutOfRange, ScalarRangeError, ShapeError
from tests.tensor.arrays import elsewhere


@cache
def matrix() -> rk.Tensor:
    return rk.asarray(np.arange(12, dtype=np.float32).reshape(3, 4))


@cache
def ids() -> rk.Tensor:
    return rk.asarray([2, 0, 1])


@cache
def image() -> rk.Tensor:
    return rk.ones((1, 1, 2, 2))


@cache
def complex_image() -> rk.Tensor:
    return rk.ones((1, 1, 2, 2), dtype=rk.complex64)


def waited(t: rk.Tensor) -> None:
    t.device.synchronize()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: rk.scatter(ids(), rk.asarray([0], device=elsewhere()), 1), ShapeError, "scatter: tensors on"),
        (lambda: rk.index_add(ids(), rk.asarray([0], device=elsewhere()), 1), ShapeError, "index_add: tensors on"),
        (lambda: rk.repeat(ids(), rk.asarray([1, 1, 1], device=elsewhere())), ShapeError, "repeat: tensors on"),
        (lambda: rk.add(matrix(), 1, out=rk.zeros((3, 4), device=elsewhere())), ShapeError, "add: tensors on"),
        (lambda: rk.add(matrix(), 1, out=np.zeros((3, 4))), DTypeError, "add, out: ndarray is no tensor"),
        (lambda: matrix().clip(0, 1, out=np.zeros((3, 4))), DTypeError, "clip, out: ndarray is no tensor"),
        (lambda: matrix().round(out=rk.zeros(3)), ShapeError, r"round: the result has shape \(3, 4\), out has"),
        (lambda: rk.get_kernel(ids(), "add_f32"), TypeError, "get_kernel: family .* give two names"),
        (lambda: rk.explain_tuned(ids(), 1, 1, 1, "f32"), TypeError, "explain_tuned: op .* give an operation's name"),
        (lambda: rk.select([ids() > 0], 7), DTypeError, "select: choices int is no sequence"),
        (lambda: rk.partition(ids(), "x"), TypeError, "partition: kth 'x' is no integer"),
        (lambda: rk.argpartition(ids(), np.array([True, False])), TypeError, "argpartition: kth .* is no integer"),
        (lambda: rk.apply_along_axis(1, 0, matrix()), DTypeError, "apply_along_axis: int is no function"),
        (lambda: rk.insert(matrix(), 1j, 0), TypeError, "insert: place 1j is no integer"),
        (lambda: rk.insert(ids(), [[0]], 0), ShapeError, r"insert: places int64 of shape \(1, 1\)"),
        (lambda: rk.delete(ids(), [0.5]), ShapeError, r"delete: places float32 of shape \(1,\)"),
        (lambda: rk.delete(ids(), np.array([True])), IndexOutOfRange, "delete: a mask of 1 for an axis of length 3"),
        (lambda: rk.split(rk.zeros(0), 1 << 63), ShapeError, "split: axis 0 of length 0 in 9223372036854775808"),
        (lambda: rk.array_split(ids(), 1 << 63), ShapeError, "array_split: 9223372036854775808 pieces; use 1 to"),
        (lambda: rk.append(ids(), 1, axis=np.array([0, 1])), TypeError, "concat: axis .* is no integer"),
        (lambda: rk.linalg.cond(matrix(), [2]), DTypeError, r"cond: ord \[2\]; use a number"),
        (lambda: rk.linalg.matrix_norm(matrix(), ord=ids()), DTypeError, "matrix_norm: ord .* use a number"),
        (lambda: rk.linalg.vector_norm(matrix(), ord=[2]), DTypeError, r"vector_norm: ord \[2\] is no real number"),
        (lambda: rk.pad(ids(), 1, mode=np.array(["edge"])), ShapeError, "pad: mode .* use one of constant, edge"),
        (lambda: rk.fft.fft(ids(), norm=ids()), ShapeError, "fft: norm .* use one of backward, ortho, forward"),
        (lambda: rk.broadcast_to(rk.zeros(()), 1 << 64), ShapeError, r"shape \(18446744073709551616,\) has a length"),
        (lambda: rk.broadcast_to(rk.zeros(()), (1 << 63) - 1), ShapeError, "has more than 9223372036854775807 bytes"),
        (lambda: rk.tile(rk.zeros((0, 3)), 1 << 64), ShapeError, "tile: shape .* has a length beyond"),
        (lambda: rk.asarray([rk.zeros(2, dtype=rk.bfloat16)]), DTypeError, "asarray: "),
        (lambda: rk.isin(ids(), [1, [2, 3]]), ShapeError, "isin: setting an array element with a sequence"),
        (lambda: rk.squeeze(1.5), DTypeError, "squeeze: float is no tensor"),
        (lambda: rk.sum(True, dtype=int), DTypeError, "sum: bool is no tensor"),
        (lambda: rk.std(1, dtype="float32"), DTypeError, "std: int is no tensor"),
        (lambda: rk.scaled_dot_product_attention(matrix(), matrix(), 1), DTypeError, "int is no tensor"),
        (lambda: rk.from_dlpack(np.array([None])), BufferError, "from_dlpack: ndarray refuses: DLPack"),
        (lambda: rk.shuffle_weight(rk.zeros((32, 64), dtype=rk.int8), package=0), TypeError, "int is no package"),
        (lambda: rk.one_hot(ids(), -1), ShapeError, "one_hot: depth -1"),
        (lambda: rk.one_hot(ids(), 2.0), TypeError, "one_hot: depth 2.0"),
        (lambda: rk.linspace(0, 1, 2.0), TypeError, "linspace: num 2.0"),
        (lambda: rk.top_k(ids(), 2.0), TypeError, "top_k: k 2.0"),
        (lambda: rk.interpolate(image(), (2.0, 2)), TypeError, "interpolate: number 2.0"),
        (lambda: rk.conv2d(image(), image(), groups=1.0), TypeError, "conv2d: groups 1.0"),
        (lambda: rk.repeat(ids(), 1.5), TypeError, "repeat: number of times 1.5"),
        (lambda: rk.repeat(ids(), rk.asarray([1, 1])), ShapeError, "give one for each"),
        (lambda: rk.roll(ids(), 1.5), TypeError, "roll: shift 1.5"),
        (lambda: rk.reshape(matrix(), (2.0, 6)), TypeError, "reshape: shape"),
        (lambda: rk.permute_dims(matrix(), 0), ShapeError, "name each axis once"),
        (lambda: rk.concat([matrix(), 1]), DTypeError, "concat: int is no tensor"),
        (lambda: rk.tensordot(matrix(), matrix(), axes=((0,),)), ShapeError, "the axes of x1 and those of x2"),
        (lambda: rk.sum(matrix(), dtype=rk.bool), DTypeError, "sum: dtype bool"),
        (lambda: rk.prod(matrix(), dtype=rk.bool), DTypeError, "prod: dtype bool"),
        (lambda: rk.cumulative_sum(ids(), dtype=rk.bool), DTypeError, "cumulative_sum: dtype bool"),
        (lambda: rk.conv2d(complex_image(), complex_image()), DTypeError, "conv2d: dtype complex64"),
        (lambda: rk.max_pool2d(complex_image(), 2), DTypeError, "max_pool2d: dtype complex64"),
        (lambda: rk.interpolate(complex_image(), 2), DTypeError, "interpolate: dtype complex64"),
        (lambda: rk.conv_transpose2d(image(), image(), output_padding=1), ShapeError, "output_padding"),
        (lambda: rk.cross_entropy(matrix(), rk.asarray([0.0, 1.0, 2.0])), DTypeError, "cross_entropy: indices"),
        (lambda: rk.layer_norm(matrix(), "w"), DTypeError, "layer_norm: str is no tensor"),
        (lambda: rk.linear(matrix(), matrix()[:1], rk.ones((5,))), ShapeError, "linear: bias"),
        (lambda: rk.scaled_dot_product_attention(ids(), ids(), ids()), ShapeError, "they end in"),
        (lambda: rk.arange(float("nan")), ValueError, "use finite ones"),
        (lambda: rk.arange(0, float("inf")), ValueError, "use finite ones"),
        (lambda: rk.arange("3"), TypeError, "arange: stop '3' is no real number"),
        (lambda: rk.zeros((3,), device=3), TypeError, "device 3 is no name"),
        (lambda: matrix().astype(None), TypeError, "None is no element type"),
        (lambda: matrix()[[0, 1], [0, 1, 2]], IndexError, "broadcast to one shape"),
        (lambda: waited(matrix()[rk.asarray(7), rk.zeros((0,), dtype=rk.int64)]), IndexError, "index 7 at position 0"),
        (lambda: rk.set_item(ids(), 0, [1.5]), DTypeError, "a float number into a int64 tensor"),
        (lambda: rk.set_item(ids(), 0, np.float32(1.5)), DTypeError, "a float number into a int64 tensor"),
        (lambda: rk.set_item(rk.zeros((2,), dtype=rk.uint8), 0, [300]), ScalarRangeError, "300 is out of bounds"),
        (lambda: matrix() + np.str_("1"), TypeError, "no element type here"),
        (lambda: matrix() - [1.0], TypeError, "subtract: a list beside a tensor; use"),
        (lambda: matrix() @ [1.0], TypeError, "matmul: list is no tensor"),
        (lambda: bool(matrix()), ValueError, r"use any\(\) or all\(\)"),
        (lambda: matrix()[::0], ValueError, "index: a slice of step 0"),
        (lambda: matrix()[:2.0], TypeError, "index: end of a slice 2.0 is no integer"),
        (lambda: matrix()[["a"]], IndexError, r"index: \['a'\]; asarray"),
        (lambda: matrix()[[1 << 70]], IndexError, "out of bounds for int64"),
        (lambda: rk.zeros_like(np.ones(3)), TypeError, "zeros_like: ndarray is no tensor"),
        (lambda: rk.ones("3"), TypeError, "ones: shape '3'"),
        (lambda: matrix().view(-1), TypeError, "view: -1 is no Layout and no dtype; use reshape"),
        (lambda: rk.percentile(matrix(), 101), ValueError, r"percentile: shares \[101\.0\]; use 0..100"),
        (lambda: rk.quantile(rk.zeros((0,)), 0.5), ValueError, "quantile: no elements"),
        (lambda: rk.elu(matrix(), alpha=None), TypeError, "elu: alpha None is no real number"),
        (lambda: rk.layer_norm(matrix(), eps="a"), TypeError, "layer_norm: eps 'a' is no real number"),
        (lambda: rk.var(matrix(), correction=1 << 1100), OverflowError, "var: an integer of 1101 bits"),
        (lambda: rk.max(rk.zeros((0, 0)), axis=1), ValueError, "max: shape .* has no elements along axes"),
        (lambda: rk.scatter(ids(), ids(), 1.5), TypeError, "scatter: a float number into a int64 tensor"),
        (lambda: rk.index_add(ids(), ids(), matrix()[0, :3]), TypeError, "index_add: a float number into a int64"),
        (lambda: rk.index_copy(ids(), ids(), 1j), TypeError, "index_copy: a complex number into a int64 tensor"),
        (lambda: rk.where(matrix() > 1, matrix(), rk.float32), TypeError, "where: a DType beside a tensor"),
        (lambda: rk.quantize(matrix(), None), LookupError, "quantize: no kernel makes blocks of None"),
        (lambda: rk.quantize(np.ones(32), "q8_0"), TypeError, "quantize: ndarray is no tensor"),
        (lambda: rk.from_blocks(b"", "q8_0", 32), ValueError, "from_blocks: 0 bytes for shape"),
        (lambda: rk.explain_tuned("sum", None, 1, 1, "f32"), TypeError, "explain_tuned: m None is no integer"),
        (lambda: rk.topk_softmax(matrix(), 1.5), TypeError, "topk_softmax: k 1.5 is no integer"),
        (lambda: rk.topk_softmax(matrix(), 1, package="aiter"), TypeError, "'aiter' is no KernelPackage"),
        (lambda: rk.shuffle_weight(matrix(), (0, 1)), ValueError, r"shuffle_weight: tile \(0, 1\)"),
        (lambda: rk.random.default_rng("a"), TypeError, "Generator: seed 'a'; use an integer"),
        (lambda: rk.random.default_rng(-1), ValueError, "Generator: seed -1; use an integer"),
        (lambda: rk.random.default_rng(0).normal(0, "a"), TypeError, "normal: scale 'a' is no real number"),
        (lambda: rk.random.default_rng(0).choice([]), TypeError, r"choice: number \[\] is no integer"),
        (lambda: rk.compile("", options="-O3"), ValueError, "compile: options '-O3'; give a list of strings"),
        (lambda: rk.compile(None), ValueError, "compile: source None is no string"),
        (lambda: rk.conv2d(image(), image(), stride=1 << 70), ValueError, "a size or a number does not fit"),
    ],
)  # fmt: skip
def test_mistakes(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    """The error names the operation and what came."""
    with pytest.raises(error, match=words):
        call()


def test_sizes_that_only_equal_an_integer_leave_no_trace() -> None:
    """Neither a float length nor True as one stays in what is kept by size, where an int finds it."""
    length = 77_031  # of no other test
    for call in (lambda n: rk.linspace(0, 1, n), lambda n: rk.one_hot(ids(), n), lambda n: rk.sort(rk.zeros((n,)))):
        with pytest.raises(TypeError):
            call(float(length))
    assert rk.one_hot(ids(), length).shape == (3, length)
    assert rk.linspace(0, 1, length).shape == (length,)
    assert repr(rk.zeros((True, 3)).shape) == repr(rk.zeros((1, 3)).shape) == "(1, 3)"


def test_numpy_integers_and_tensors_without_axes_count() -> None:
    """What has `__index__` is an int wherever one is taken, and a range or a tuple in a key is an index tensor."""
    one, x = np.int64(1), matrix().numpy()
    assert rk.arange(np.int64(5)).dtype is rk.arange(rk.asarray(5)).dtype is rk.int64
    assert rk.arange(0, np.float32(1), 0.25).numpy().tolist() == [0, 0.25, 0.5, 0.75]
    assert rk.full((2,), np.float32(1.5)).numpy().tolist() == [1.5, 1.5]
    assert np.array_equal(rk.roll(matrix(), one, axis=one).numpy(), np.roll(x, 1, 1))
    assert np.array_equal(rk.repeat(matrix(), one + one, axis=0).numpy(), np.repeat(x, 2, 0))
    assert np.array_equal(rk.tensordot(matrix(), matrix().T, axes=one).numpy(), x @ x.T)
    assert rk.expand_dims(matrix(), axis=one).shape == (3, 1, 4)
    assert rk.reshape(matrix(), np.int64(12)).shape == matrix().reshape(rk.asarray(12)).shape == (12,)
    assert np.array_equal(matrix()[range(2), ((1, 2),)].numpy(), x[range(2), ((1, 2),)])
    assert np.array_equal(matrix().permute((1, 0)).numpy(), x.T)


def test_lists_are_written_in_the_dtype_of_the_tensor() -> None:
    """0.1 in a list loses nothing on its way into float64, nor a large integer on its way into uint64."""
    wide = rk.zeros((2,), dtype=rk.float64)
    wide[:] = [0.1, 1e300]
    assert wide.tolist() == [0.1, 1e300]
    unsigned = rk.zeros((2,), dtype=rk.uint64)
    unsigned[:] = [2**64 - 1, 1]
    unsigned[1:] = rk.asarray([5])
    assert unsigned.tolist() == [2**64 - 1, 5]


def test_membership_and_formats() -> None:
    """`in` asks for an equal element of any axis, as NumPy's does; a number without axes takes a format."""
    assert 3 in matrix()
    assert 100 not in matrix()
    assert None not in matrix()
    assert f"{rk.asarray(3.14159):.2f} {rk.asarray(7):3d}" == "3.14   7"
    assert f"{ids()}" == str(ids())
    with pytest.raises(TypeError):
        format(ids(), ".2f")


def test_a_print_tells_the_shape_that_it_does_not_show() -> None:
    """Of tensors without elements, and of shortened ones."""
    assert "shape=(0, 3), " in repr(rk.zeros((0, 3)))
    assert "shape=(2000,), " in repr(rk.zeros((2000,)))
    assert "shape" not in repr(matrix())


def test_linspace_of_integers_rounds_down() -> None:
    """As NumPy's does, which leaves bool alone."""
    assert rk.linspace(0.1, 1, 2, dtype=rk.bool).tolist() == [True, True]
    assert rk.linspace(-7, 1, 4, dtype=rk.int32).tolist() == np.linspace(-7, 1, 4, dtype=np.int32).tolist()


def test_complex_numbers_among_others() -> None:
    """isin needs no order; -0.0 equals 0.0, NaN nothing."""
    x = np.array([[1 + 1j, 1 - 1j, 0.0], [complex(-0.0, 0.0), np.nan, 1j]], np.complex64)
    among = np.array([1 + 1j, 0, np.nan, 1], np.complex64)
    for invert in (False, True):
        found = rk.isin(rk.asarray(x), rk.asarray(among), invert=invert).numpy()
        assert np.array_equal(found, np.isin(x, among, invert=invert))


def test_index_errors_are_index_errors() -> None:
    """Index tensors that do not broadcast are an IndexError, as in NumPy, on reads and writes."""
    for key in ((ids(), rk.asarray([0, 1])), (slice(None), ids(), ids())):
        with pytest.raises(IndexOutOfRange):
            matrix()[key]
        with pytest.raises(IndexOutOfRange):
            matrix()[key] = 0


def test_axes_and_dtypes_by_place() -> None:
    """What NumPy takes without a name, in NumPy's order: axes, dtypes, diagonals, lengths of transforms."""
    t = matrix()
    for by_place, by_name in (
        (rk.sum(t, 0), rk.sum(t, axis=0)),
        (rk.argmax(t, 1), rk.argmax(t, axis=1)),
        (rk.concat([t, t], 1), rk.concat([t, t], axis=1)),
        (rk.take(t, ids(), 1), rk.take(t, ids(), axis=1)),
        (rk.repeat(t, 2, 1), rk.repeat(t, 2, axis=1)),
        (rk.roll(t, 1, 1), rk.roll(t, 1, axis=1)),
        (rk.softmax(t, 0), rk.softmax(t, axis=0)),
        (rk.quantile(t, 0.5, 0), rk.quantile(t, 0.5, axis=0)),
        (rk.top_k(t, 1, 0)[0], rk.top_k(t, 1, axis=0)[0]),
        (rk.tril(t, -1), rk.tril(t, k=-1)),
        (rk.tensordot(t, t.T, 1), rk.tensordot(t, t.T, axes=1)),
        (rk.bincount(ids(), ids()), rk.bincount(ids(), weights=ids())),
        (rk.average(t, 0, t), rk.average(t, axis=0, weights=t)),
        (rk.isclose(t, 1, 0.5, 1.0), rk.isclose(t, 1, rtol=0.5, atol=1.0)),
        (rk.arange(0, 3, 1, rk.float32), rk.arange(3, dtype=rk.float32)),
        (rk.histogram(t, np.array([0, 4, 8]))[0], rk.histogram(t, [0, 4, 8])[0]),
        (rk.zeros((2,), rk.int8), rk.zeros((2,), dtype=rk.int8)),
        (rk.full_like(t, 3, rk.int8), rk.full_like(t, 3, dtype=rk.int8)),
        (rk.fft.fft(t, 2, 0), rk.fft.fft(t, n=2, axis=0)),
        (rk.linalg.norm(t, 1, 0), rk.linalg.norm(t, 1, axis=0)),
    ):
        assert by_place.dtype is by_name.dtype and rk.array_equal(by_place, by_name)
