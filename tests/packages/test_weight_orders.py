"""Which order of weights a kernel reads is told by its code, and weights of another one never reach it."""

from __future__ import annotations

from pathlib import Path

import attrs
import numpy as np
import pytest

import rocmkern as rk
from rocmkern.errors import PackageError
from rocmkern.packages import KINDS, KernelPackage, KernelTable, check, decide, gemm_a8w8, shuffle_weight
from rocmkern.packages.kind import Kind
from rocmkern.packages.kinds import I8GEMM, I8GemmArgs
from tests import samples
from tests.packages import i8_kernel
from tests.packages.test_operations import Array, int8_problem, int8_result
from tests.packages.test_package import note

M, N, K = 70, 256, 384
PROBLEM = {"m": M, "n": N, "k": K, "bpreshuffle": 1}


def problem() -> tuple[list[rk.Tensor], Array]:
    """Tensors of an int8 product, and what a kernel makes of them that cuts float32 to bfloat16."""
    arrays, device = int8_problem(M, N, K), rk.Device("emulator:gfx942")
    cut = int8_result(*arrays, np.float32).view(np.uint32) & 0xFFFF0000
    return [rk.asarray(x, device=device) for x in arrays], cut.view(np.float32)


def table(package: KernelPackage, kind: Kind = I8GEMM) -> KernelTable:
    return KernelTable.of(package, kind, "gfx942")


@pytest.mark.parametrize("rows", [16, 32])
def test_weights_reach_a_kernel_in_its_order(tmp_path: Path, rows: int) -> None:
    """The shape of its matrix instructions says which; plain weights and those shuffled for the package come so."""
    package = KernelPackage.open(i8_kernel.install(tmp_path, rows))
    (a, b, scale_a, scale_b, bias), expected = problem()
    assert list(table(package).tiles()) == [(rows, 16)]
    for weight in (b, shuffle_weight(b, package=package), shuffle_weight(b, (rows, 32))):
        got = gemm_a8w8(a, weight, scale_a, scale_b, bias=bias, package=package)
        np.testing.assert_array_equal(got.numpy().astype(np.float32), expected)


def test_weights_of_another_order_are_not_launched_on(tmp_path: Path) -> None:
    """A kernel that reads another order is rejected in words, and our own kernels multiply."""
    package = KernelPackage.open(i8_kernel.install(tmp_path, 16))
    (a, b, scale_a, scale_b, bias), _ = problem()
    weight = shuffle_weight(b, (32, 16))
    decision = decide(I8GEMM, package, a.device, **PROBLEM, tile_rows=32)
    assert decision.choice is None
    assert "product: rejected, it reads weights in tiles of 16 rows, these are in tiles of 32" in decision.explain()
    got = gemm_a8w8(a, weight, scale_a, scale_b, bias=bias, package=package).numpy()
    np.testing.assert_array_equal(got, gemm_a8w8(a, b, scale_a, scale_b, bias=bias).numpy())


def test_a_package_of_both_orders(tmp_path: Path) -> None:
    """Shuffled weights take the kernel of their order; to shuffle for such a package, the tile has to be said."""
    package = KernelPackage.open(i8_kernel.install(tmp_path, 16, 32))
    (a, b, scale_a, scale_b, bias), expected = problem()
    for rows in (16, 32):
        choice = decide(I8GEMM, package, a.device, **PROBLEM, tile_rows=rows).choice
        assert choice is not None
        assert (choice.path.name, choice.tile) == (f"{rows}.co", (rows, 16))
        got = gemm_a8w8(a, shuffle_weight(b, (rows, 16)), scale_a, scale_b, bias=bias, package=package)
        np.testing.assert_array_equal(got.numpy().astype(np.float32), expected)
    with pytest.raises(PackageError, match=r"different orders: \(16, 16\) is that of product; \(32, .*; give tile"):
        shuffle_weight(b, package=package)


def test_code_that_does_not_tell_the_order(tmp_path: Path) -> None:
    """A kernel without matrix instructions of int8 is found by check() and never chosen."""
    package = KernelPackage.open(i8_kernel.install(tmp_path, 16))
    (tmp_path / "gfx942/i8gemm/16.co").write_bytes(samples.hand_written(note(I8GemmArgs)))
    csv = tmp_path / "gfx942/i8gemm/i8gemm.csv"
    csv.write_text(csv.read_text().replace("product", "slots"))
    words = "slots has none of its kind's matrix instructions, so the order of its weights can't be told"
    assert [(f.rule, f.fact) for f in check(package).findings] == [("order of weights", words)]
    decision = decide(I8GEMM, package, rk.Device("emulator:gfx942"), **PROBLEM)
    assert f"slots: rejected, {words}" in decision.explain()
    assert table(package).tiles() == {}


def test_a_kind_of_ones_own_is_checked_as_such(tmp_path: Path) -> None:
    """By its own argument classes, also where it has the name of a known kind."""
    package = KernelPackage.open(i8_kernel.install(tmp_path, 16))
    own = attrs.evolve(I8GEMM, arguments=(KINDS["topksoftmax"].arguments[0],))
    assert table(package).select(304, **PROBLEM).arguments is I8GemmArgs
    words = r"rejected, .* TopKSoftmaxArgs 128 \(argument 3 is 48 scale_a: pointer in the file, 48 tokens: u32 in"
    with pytest.raises(LookupError, match=words):
        table(package, own).select(304, **PROBLEM)
