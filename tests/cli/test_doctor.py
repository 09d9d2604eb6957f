"""`rocmkern doctor` and `rocmkern cache`: what they look at, and what they say where something is wrong."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from rocmkern.cli import doctor, main
from rocmkern.disk_cache import DiskCache
from rocmkern.emulator.program import settle
from rocmkern.paths import CACHE_VARIABLE
from tests.hip_double import Double


def found(*arguments: str, code: int = 0) -> dict[str, dict[str, Any]]:
    done = CliRunner().invoke(main, ["doctor", "--json", *arguments])
    assert done.exit_code == code, done.output
    return {finding["what"]: finding for finding in json.loads(done.output)}


def test_a_launch_is_made_on_the_default_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """The emulated one here: which code object it gets, and how long the first launch and the next take."""
    monkeypatch.setenv("ROCMKERN_DEVICE", "emulator:gfx1100")
    told = found()
    device = told["emulator:gfx1100"]
    assert device["state"] == "ok"
    assert "gfx1100, code for gfx11-generic; first launch" in device["fact"]
    assert "(default)" in device["fact"]
    assert [name for name in told if name.startswith("emulator")] == ["emulator:gfx1100"]
    assert (told["numpy"]["fact"], told["numpy"]["state"]) == (np.__version__, "ok")


def test_a_device_that_computes_nothing_is_wrong(double: Double, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in of HIP launches and runs nothing: the doctor looks at values, says so, and exits with 1."""
    monkeypatch.delenv("ROCMKERN_DEVICE", raising=False)
    told = found(code=1)
    assert (told["HIP"]["fact"], told["HIP"]["state"]) == ("2 devices, version 6.3", "ok")
    for name in ("hip:0", "hip:1"):
        assert told[name]["state"] == "wrong"
        assert "code for gfx942" in told[name]["fact"] and "x * 2 + 1 is " in told[name]["fact"]
        assert "report" in told[name]["remedy"]


def test_a_default_that_is_not_there_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable names no device: the fact is the error's, the remedy too."""
    monkeypatch.setenv("ROCMKERN_DEVICE", "emulator:gfx000")
    told = found(code=1)
    assert told["emulator:gfx000"]["state"] == "wrong"
    assert "no device 'emulator:gfx000'" in told["emulator:gfx000"]["fact"]
    assert "the emulator has gfx" in told["emulator:gfx000"]["remedy"]


def test_folders_that_serve_nobody_are_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of another user's, and one in a folder that can't be written."""
    if os.geteuid():
        pytest.skip("only root can give a folder to another user")
    settle()
    folder = tmp_path / "cache"
    folder.mkdir()
    monkeypatch.setenv(CACHE_VARIABLE, str(folder))
    os.chown(folder, 65534, 65534)
    told = doctor._folder("cache", folder)
    assert (told.state, told.fact) == ("wrong", f"{folder} belongs to user 65534")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    told = doctor._folder("cache", tmp_path / "absent" / "cache")
    assert told.state == "wrong" and f"{tmp_path} can't be written" in told.fact
    assert CACHE_VARIABLE in told.remedy


@pytest.mark.parametrize("is_open", [True, False])
def test_nodes_of_the_driver(is_open: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that the user may not open are named, with what opens them."""
    kfd, dri = tmp_path / "kfd", tmp_path / "dri"
    dri.mkdir()
    monkeypatch.setattr(doctor, "_NODES", (kfd, dri))
    assert [f.state for f in doctor._nodes()] == ["note"]
    for node in (kfd, dri / "renderD128", dri / "card0"):
        node.touch()
    access: Callable[[Path, int], bool] = lambda path, mode: is_open or path == kfd  # noqa: E731
    monkeypatch.setattr(os, "access", access)
    (told,) = doctor._nodes()
    assert told.state == ("ok" if is_open else "wrong")
    assert "renderD128" in told.fact and "card0" not in told.fact
    assert is_open or "groups render and video" in told.remedy


def test_the_table_for_people_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCMKERN_DEVICE", "emulator:gfx942")
    done = CliRunner().invoke(main, ["doctor"])
    assert done.exit_code == 0
    assert "emulator:gfx942" in done.output and "ziglang" in done.output


def test_the_cache_is_shown_and_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files and bytes by folder; clearing leaves what is not the cache's own."""
    settle()
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    assert DiskCache.named("jit").keep("v/a", b"12345")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_bytes(b"mine")

    def shown(*arguments: str) -> Any:
        return json.loads(CliRunner().invoke(main, ["cache", "--json", *arguments]).output)

    before = shown()
    assert before["folder"] == str(tmp_path) and list(before["kept"]) == ["jit"]
    assert before["kept"]["jit"]["files"] == 2 and before["kept"]["jit"]["bytes"] > 5
    assert "jit" in CliRunner().invoke(main, ["cache"]).output
    assert shown("--clear")["cleared"]
    assert shown()["kept"] == {} and (tmp_path / "other" / "file").read_bytes() == b"mine"
