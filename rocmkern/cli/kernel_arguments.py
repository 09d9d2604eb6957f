"""Arguments of kernels as commands take them: numbers, and buffers by what they hold."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import numpy as np

from rocmkern.dtypes import BY_SHORT
from rocmkern.errors import ConfigError
from rocmkern.runtime import Device, DeviceMemory

ARGUMENT: Final = "DTYPE:NUMBER|DTYPE[COUNT][=CONTENT]|FILE.npy"
_FORM: Final = re.compile(r"(\w+)(?::(.+)|\[(\d+)\](?:=(.+))?)$")
_SEED: Final = 0


def given(device: Device, text: str) -> np.generic | DeviceMemory:
    """An argument: `u32:1000`, `f32[64]` that nothing wrote, `f32[64]=arange` (or zeros, ones, random, a number), or
    an array's file. Raises ConfigError.
    """
    if text.endswith(".npy"):
        return _filled(device, np.load(Path(text), allow_pickle=False))
    form = _FORM.match(text)
    if form is None or form[1] not in BY_SHORT:
        raise ConfigError(f"launch: argument {text!r} is not {ARGUMENT}; dtypes are {', '.join(BY_SHORT)}")
    dtype, number, count, content = BY_SHORT[form[1]].numpy, form[2], form[3], form[4]
    try:
        if number is not None:
            value: np.generic = dtype.type(float(number) if dtype.kind == "f" else int(number, 0))
            return value
        if content is None:
            return device.alloc(int(count) * dtype.itemsize)
        return _filled(device, _array(dtype, int(count), content))
    except (ValueError, OverflowError) as error:
        raise ConfigError(f"launch: argument {text!r} has no value of {form[1]}: {error}; write {ARGUMENT}") from None


def _array(dtype: np.dtype[np.generic], count: int, content: str) -> np.ndarray:
    if content == "arange":
        return np.arange(count).astype(dtype)
    if content == "random":
        return (np.random.default_rng(_SEED).random(count) * (1 if dtype.kind == "f" else 100)).astype(dtype)
    number = {"zeros": 0, "ones": 1}.get(content)
    return np.full(count, float(content) if number is None else number).astype(dtype)


def _filled(device: Device, array: np.ndarray) -> DeviceMemory:
    memory = device.alloc(array.nbytes)
    memory.copy_from_host(np.ascontiguousarray(array))
    return memory
