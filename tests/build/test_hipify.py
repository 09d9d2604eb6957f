"""CUDA's names to HIP's: by the table, and nothing that is not code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from rocmkern.build import hip_source, hipify
from rocmkern.cli.hipify import hipify as command

SOURCE = """#include <cuda_runtime.h>
#include "cuda_fp16.h"
// cudaMalloc stays in comments
int main() {
    cudaStream_t stream; const char *text = "cudaMalloc";
    if (cudaMalloc(&x, 4) != cudaSuccess) { cudaMisspelt(x); }
    nvrtcProgram program; CUmodule module; cuModuleLoad(&module, text);
}
"""


def test_names_are_replaced() -> None:
    """Those of the runtime, the driver and the run-time compiler, and headers; comments and strings stay."""
    done = hipify.convert(SOURCE)
    assert done.text.splitlines() == [
        "#include <hip/hip_runtime.h>",
        "#include <hip/hip_fp16.h>",
        "// cudaMalloc stays in comments",
        "int main() {",
        '    hipStream_t stream; const char *text = "cudaMalloc";',
        "    if (hipMalloc(&x, 4) != hipSuccess) { cudaMisspelt(x); }",
        "    hiprtcProgram program; hipModule_t module; hipModuleLoad(&module, text);",
        "}",
    ]
    assert done.count == 8 and [(each.line, each.name) for each in done.unknown] == [(6, "cudaMisspelt")]


@pytest.mark.parametrize(
    "text", ["#if __CUDA_ARCH__ >= 700\n", "#include <nvml.h>\n", "curandState_t s;", "cuFooBar();"]
)
def test_unknown_names_are_listed(text: str) -> None:
    """Rather than guessed."""
    done = hipify.convert(text)
    assert done.text == text and len(done.unknown) == 1


def test_headers_declare_what_they_rename() -> None:
    """Every name that cuda_runtime.h takes from HIP is in HIP's header."""
    folder = hip_source.HEADERS
    declared = "".join(path.read_text() for path in (*folder.glob("hip/*.h"), *folder.glob("rocmkern/*.inc")))
    wanted = set(re.findall(r"^#define cuda\w+ (\w+)$", (folder / "rocmkern/cuda_names.h").read_text(), re.MULTILINE))
    assert {name for name in wanted if not re.search(rf"\b{name}\b", declared)} == set()


def test_files_are_shown_or_written(tmp_path: Path) -> None:
    """A diff without `--write`; exit status 1 where a name is unknown."""
    path = tmp_path / "k.cu"
    path.write_text("cudaFree(x);\n")
    done = CliRunner().invoke(command, [str(path)])
    assert done.exit_code == 0 and "-cudaFree(x);\n+hipFree(x);" in done.output
    assert path.read_text() == "cudaFree(x);\n"
    assert CliRunner().invoke(command, ["--write", str(path)]).exit_code == 0
    assert path.read_text() == "hipFree(x);\n"
    path.write_text("cudaMisspelt(x);\n")
    assert CliRunner().invoke(command, [str(path)]).exit_code == 1
