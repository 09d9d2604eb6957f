"""The configuration of gen-kernels: descriptors, and every mistake with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmkern import dtypes
from rocmkern.errors import ConfigError
from rocmkern.specialize import TensorDescriptor, parse
from rocmkern.specialize.config import load, requests
from rocmkern.specialize.descriptor import contiguous

FOUR = st.tuples(*[st.integers(1, 1000)] * 4)
GOOD: dict[str, Any] = {
    "kernel_name": "ggml_op_add", "kernel_source": "binary_ops.hip", "arch": "gfx942",
    "input_tensors": ["(4,3,2,1)/f32", "(4,1,2,1)/f32"], "output_tensor": "(4,3,2,1)/f32", "exported_name": "add",
}  # fmt: skip


@given(FOUR, st.sampled_from(dtypes.REAL), st.one_of(st.none(), FOUR))
def test_descriptors_survive_their_text(shape: Any, dtype: dtypes.DType, strides: Any) -> None:
    """Parsing what a descriptor prints gives it back."""
    tensor = TensorDescriptor(shape, dtype, strides or contiguous(shape))
    in_bytes = tuple(s * dtype.itemsize for s in contiguous(shape))
    if dtype.itemsize > 1 and all(n == 1 or s == b for n, s, b in zip(shape, tensor.strides, in_bytes, strict=True)):
        return
    assert parse(str(tensor)) == tensor


def test_the_seed_s_example_is_in_elements() -> None:
    """`(1024,1,1,1)/f32/(1,1024,1048576,1048576)` is contiguous: strides of dims of one do not matter."""
    assert parse("(1024,1,1,1)/f32/(1,1024,1048576,1048576)").is_contiguous
    assert parse(" (8, 4, 2, 1) / bf16 ").strides == (1, 8, 32, 64)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (17, "17 is no descriptor; write"),
        ("(1,1,1,1)", "has 1 parts between slashes"),
        ("(1,1,1,1)/f32/(1,1,1,1)/x", "has 4 parts between slashes"),
        ("1,1,1,1/f32", "must be enclosed in parentheses"),
        ("(1,1,1)/f32", "must have exactly 4 dimensions, it has 3"),
        ("(1,1,1,1)/f32/(1,1)", "strides of .* must have exactly 4 dimensions, it has 2"),
        ("(a,1,1,1)/f32", "are not four integers"),
        ("(0,1,1,1)/f32", "has a dimension below 1"),
        ("(4,-1,1,1)/f32", "has a dimension below 1"),
        ("(4,1,1,1)/f31", "unknown dtype 'f31'; there are bool, u8"),
        ("(4,3,1,1)/f32/(-1,4,12,12)", "are negative"),
        ("(4,3,1,1)/f32/(4,16,48,48)", r"in bytes; strides are in elements: \(1, 4, 12, 12\)"),
    ],
)
def test_bad_descriptors_say_what_is_wrong(text: Any, words: str) -> None:
    """Each mistake has its words, and is a ValueError."""
    with pytest.raises(ValueError, match=words):
        parse(text)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kernel_name": "ggml_op_pow"}, "kernel 0, kernel_name: 'ggml_op_pow' is not in binary_ops.hip; it has ggml"),
        ({"kernel_source": "nothing.hip"}, "kernel 0, kernel_source: kernel source not found: nothing.hip"),
        ({"kernel_source": f"{'n' * 300}.hip"}, "kernel source not found: nnn"),
        ({"kernel_source": "a\0b.hip"}, "kernel source not found: a"),
        ({"kernel_source": "binary_ops.py"}, "kernel source not found: binary_ops.py"),
        ({"arch": "gfx000"}, "kernel 0, arch: unknown target 'gfx000'; there are gfx90a"),
        ({"arch": "aie2"}, "kernel 0, arch: aie2 is an NPU"),
        ({"exported_name": "../add"}, "kernel 0, exported_name: '../add' is no C identifier"),
        ({"input_tensors": "(4,3,2,1)/f32"}, "kernel 0, input_tensors: .* is no list"),
        ({"input_tensors": ["(4,3,2,1)/f32"]}, "ggml_op_add takes 2, 1 came"),
        ({"input_tensors": ["(4,3,2,1)/f32", "(4,3,2,1)/f16"]}, r"dtypes differ \(f32, f16\)"),
        ({"input_tensors": ["(4,3,2,1)/f32", "(3,3,2,1)/f32"]}, "does not repeat to"),
        ({"input_tensors": ["(4,3,2,1)/f32", "(4,3,2,x)/f32"]}, r"kernel 0, input_tensors\[1\]: shape of .* integers"),
        ({"input_tensors": ["(4,3,2,1)/c64"] * 2}, "ggml_op_add of c64; it takes real number dtypes"),
        ({"input_tensors": ["(4,3,2,1)/bool"] * 2}, "ggml_op_add of bool; it takes real number dtypes"),
        ({"output_tensor": "(4,3,2,2)/f32"}, "kernel 0, output_tensor: .* has that shape and dtype"),
        ({"extra": 1}, "kernel 0: unknown key 'extra'"),
    ],
)  # fmt: skip
def test_bad_entries_name_index_and_field(change: dict[str, Any], words: str) -> None:
    """Index and field begin each message."""
    with pytest.raises(ConfigError, match=words):
        requests({"kernels": [{**GOOD, **change}]})


@pytest.mark.parametrize("key", list(GOOD))
def test_missing_keys_are_named(key: str) -> None:
    """All six keys are required."""
    entry = {k: v for k, v in GOOD.items() if k != key}
    with pytest.raises(ConfigError, match=f"kernel 1: missing '{key}'"):
        requests({"kernels": [GOOD, entry]})


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ([], 'must contain a "kernels" key'),
        ({"kernels": {}}, '"kernels" must be a list, it is dict'),
        ({"kernels": []}, '"kernels" is empty'),
        ({"kernels": [GOOD], "kernel": 1}, "unknown key 'kernel'"),
        ({"kernels": [GOOD, GOOD]}, "gfx942/add comes twice"),
        ({"kernels": [{**GOOD, "arch": ["gfx942", "gfx942:xnack+"]}]}, "gfx942/add comes twice"),
        ({"kernels": [3]}, "kernel 0: it is int, an object was wanted"),
    ],
)
def test_bad_documents(document: Any, words: str) -> None:
    """What is wrong with the whole is said too."""
    with pytest.raises(ConfigError, match=words):
        requests(document)


def test_every_mistake_is_told_at_once() -> None:
    """Two bad entries give two lines."""
    bad = [{**GOOD, "arch": "x", "exported_name": "a"}, {**GOOD, "kernel_name": "y", "exported_name": "b"}]
    with pytest.raises(ConfigError, match=r"(?s)kernel 0, arch.*\n.*kernel 1, kernel_name"):
        requests({"kernels": bad})


def test_products_are_checked() -> None:
    """k, batches, result shape and dtype of a matrix product."""
    product = {**GOOD, "kernel_name": "ggml_op_mul_mat", "kernel_source": "mul_mat.hip"}
    fine = {"input_tensors": ["(8,5,1,1)/f16", "(8,3,2,1)/f16"], "output_tensor": "(5,3,2,1)/f32"}
    assert len(requests({"kernels": [{**product, **fine}]})) == 1
    for change, words in (
        ({"input_tensors": ["(8,5,1,1)/f16", "(7,3,2,1)/f16"]}, "k is 8 in input 0 and 7 in input 1"),
        ({"input_tensors": ["(8,5,3,1)/f16", "(8,3,2,1)/f16"]}, "do not repeat"),
        ({"output_tensor": "(3,5,2,1)/f32"}, "shape"),
        ({"output_tensor": "(5,3,2,1)/f16"}, "the product of f16 is f32"),
        (
            {"input_tensors": ["(8,5,1,1)/f8_e4m3", "(8,3,2,1)/f8_e4m3"]},
            "ggml_op_mul_mat of f8_e4m3; it takes .*i8.*f16",
        ),
    ):
        with pytest.raises(ConfigError, match=words):
            requests({"kernels": [{**product, **fine, **change}]})


def test_targets_replace_the_entries_own() -> None:
    """--arch makes every kernel for each target named."""
    entry = {k: v for k, v in GOOD.items() if k != "arch"}
    found = requests({"kernels": [entry]}, targets=("gfx90a", "gfx11-generic"))
    assert [request.target for request in found] == ["gfx90a", "gfx11-generic"]


def test_files_that_can_t_be_read(tmp_path: Path) -> None:
    """A missing file, and one that is no JSON."""
    with pytest.raises(ConfigError, match=r"failed to load configuration .*No such file"):
        load(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(ConfigError, match=r"failed to load configuration .*must be JSON"):
        load(tmp_path / "bad.json")
    with pytest.raises(ConfigError, match="kernels directory not found"):
        requests({"kernels": [GOOD]}, tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["../outside.hip", "link.hip", "sub/../../outside.hip"])
def test_a_source_stays_in_its_folder(tmp_path: Path, name: str) -> None:
    """Neither dots nor links lead a configuration to a file beside the kernels."""
    folder = tmp_path / "kernels"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "outside.hip").write_text("// TOPSECRET\n")
    (folder / "link.hip").symlink_to(tmp_path / "outside.hip")
    with pytest.raises(ConfigError, match=f"kernel 0, kernel_source: {name} leads out of .*kernels; copy") as told:
        requests({"kernels": [{**GOOD, "kernel_source": name}]}, folder)
    assert "TOPSECRET" not in str(told.value)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "9" * 5000, "TOPSECRET", '{"kernels": ' + "[" * 5000 + "]" * 5000 + "}"]
)
def test_a_file_that_is_no_configuration(tmp_path: Path, text: str) -> None:
    """Whatever it holds, the error is a ConfigError and tells nothing of it."""
    path = tmp_path / "c.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"gen-kernels: failed to load configuration .*c\.json") as told:
        load(path)
    assert "TOPSECRET" not in str(told.value)
