"""How many waves a compute unit holds, by the ISA documents' register files and steps of allocation."""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from rocmkern import codeobject
from rocmkern.codeobject import Kernel
from rocmkern.errors import ConfigError
from rocmkern.kernels import shipped
from rocmkern.profiling.chips import CHIPS, chip, chip_of
from rocmkern.profiling.occupancy import lds_bytes, occupancy


def kernel(name: str, vgprs: int, lds: int = 0, sgprs: int = 32) -> Kernel:
    """A kernel for a chip that uses so much."""
    target = {"gfx1030": "gfx10-3-generic", "gfx1100": "gfx11-generic", "gfx1151": "gfx11-generic"}
    device = CHIPS[name].target
    code = codeobject.read(shipped.code("fill", target.get(device, "gfx12-generic" if "12" in device else device)))
    first = next(iter(code.kernels.values()))
    return evolve(first, vgprs=vgprs, agprs=0, sgprs=sgprs, lds_size=lds)


@pytest.mark.parametrize(
    ("name", "vgprs", "lds", "threads", "waves", "limit"),
    [
        ("mi300x", 64, 0, 256, 8, "slots"),
        ("mi300x", 65, 0, 256, 7, "vector registers"),
        ("mi300x", 128, 0, 256, 4, "vector registers"),
        ("mi300x", 84, 0, 256, 5, "vector registers"),  # 88 are taken
        ("rx6800xt", 65, 0, 32, 12, "vector registers"),  # 80
        ("rx7900xtx", 97, 0, 32, 12, "vector registers"),  # 120
        ("mi300x", 512, 0, 64, 1, "vector registers"),
        ("mi300x", 32, 32 << 10, 256, 2, "LDS"),
        ("mi300x", 32, (32 << 10) + 4, 256, 1, "LDS"),
        ("mi350x", 32, 32000, 256, 5, "LDS"),  # of 160 KiB, by 1280 bytes
        ("mi350x", 32, 32 << 10, 256, 4, "LDS"),
        ("mi300x", 32, 0, 128, 8, "slots"),
        ("rx6800xt", 64, 0, 256, 16, "slots"),
        ("rx6800xt", 65, 0, 256, 12, "vector registers"),
        ("rx6800xt", 128, 0, 256, 8, "vector registers"),
        ("rx7900xtx", 96, 0, 256, 16, "slots"),
        ("rx7900xtx", 97, 0, 256, 12, "vector registers"),
        ("rx9070xt", 256, 0, 256, 4, "vector registers"),  # 264 are taken: five have room, in groups of eight waves
        ("rx7900xtx", 32, 0, 64, 16, "slots"),
    ],
)
def test_known_cases(name: str, vgprs: int, lds: int, threads: int, waves: float, limit: str) -> None:
    """Waves on a SIMD and what limits them."""
    held = occupancy(kernel(name, vgprs, lds), chip(name), threads)
    assert (held.waves, held.limit) == (waves, limit)


def test_scalar_registers_limit_cdna_alone() -> None:
    """CDNA shares 800 of a SIMD, by the sixteen; RDNA gives each wave all that it can name."""
    assert occupancy(kernel("mi300x", 32, sgprs=102), chip("mi300x"), 64).limit == "scalar registers"
    assert occupancy(kernel("rx7900xtx", 32, sgprs=106), chip("rx7900xtx"), 64).limit == "slots"


@given(
    st.sampled_from(sorted(CHIPS)), st.integers(1, 256), st.integers(0, 64 << 10), st.sampled_from([64, 128, 256, 512])
)
def test_advice_helps(name: str, vgprs: int, lds: int, threads: int) -> None:
    """Who uses as little as the advice says holds more waves, and with one register or 512 bytes more does not."""
    card, used = chip(name), kernel(name, vgprs, lds)
    held = occupancy(used, card, threads)
    assert 0 <= held.waves <= held.most and held.share <= 1
    if "vector registers" in held.advice and held.limit == "vector registers":
        wanted = int(held.advice.split(",")[1])
        waves = -(-threads // used.wave_size)
        better = occupancy(evolve(used, vgprs=wanted), card, threads)
        assert better.waves >= held.waves and wanted < vgprs
        if waves <= card.simds and card.simds % waves == 0:
            assert better.waves > held.waves
            assert occupancy(evolve(used, vgprs=wanted + 1), card, threads).waves == held.waves
    elif held.limit == "LDS" and held.advice:
        wanted = int(held.advice.split(",")[1].split()[0])
        assert occupancy(evolve(used, lds_size=wanted), card, threads).waves > held.waves
        assert lds <= lds_bytes(card)


def test_unknown_chips_are_named() -> None:
    """The error lists the nearest."""
    assert chip("MI300X") is CHIPS["mi300x"] and chip("RX 7900 XTX") is CHIPS["rx7900xtx"]
    with pytest.raises(ConfigError, match="profile: no chip 'mi300'; there is mi300x"):
        chip("mi300")
    assert chip_of("gfx942") is CHIPS["mi300x"] and chip_of("gfx11-generic") is CHIPS["rx7900xtx"]
    assert chip_of("sm_90") is None
