"""Tensor kernels for AMD GPUs, compiled ahead of time; on the CPU through an emulator where there is no GPU.

Names are imported when first used: importing rocmkern loads neither HIP, nor LLVM, nor NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rocmkern import dask, einops_backend

if TYPE_CHECKING:
    from rocmkern import distributed as distributed
    from rocmkern import errors as errors
    from rocmkern import fft as fft  # so it is public to type checkers, as the others are by `*`
    from rocmkern import linalg as linalg
    from rocmkern import models as models
    from rocmkern import random as random
    from rocmkern.build.expressions import *
    from rocmkern.build.jit import compile as compile
    from rocmkern.build.kernel_library import *
    from rocmkern.constants import *
    from rocmkern.default_dtypes import set_default_dtype as set_default_dtype
    from rocmkern.drivers import *
    from rocmkern.dtypes import *
    from rocmkern.engine.graph import *
    from rocmkern.kernels.cache import *
    from rocmkern.numpy_calls import *
    from rocmkern.ops.arranged import *
    from rocmkern.ops.choosing import *
    from rocmkern.ops.composed import *
    from rocmkern.ops.conv import *
    from rocmkern.ops.creation import *
    from rocmkern.ops.datatypes import *
    from rocmkern.ops.einsum import *
    from rocmkern.ops.elementary import *
    from rocmkern.ops.familiar import *
    from rocmkern.ops.files import *
    from rocmkern.ops.grids import *
    from rocmkern.ops.indexing import *
    from rocmkern.ops.items import *
    from rocmkern.ops.linear import *
    from rocmkern.ops.manipulation import *
    from rocmkern.ops.memory import *
    from rocmkern.ops.nn import *
    from rocmkern.ops.numpy_names import *
    from rocmkern.ops.numpy_sets import *
    from rocmkern.ops.passing_nan import *
    from rocmkern.ops.polynomials import *
    from rocmkern.ops.quantiles import *
    from rocmkern.ops.reduction import *
    from rocmkern.ops.reductions import *
    from rocmkern.ops.rounding import *
    from rocmkern.ops.rows_binary import *
    from rocmkern.ops.rows_unary import *
    from rocmkern.ops.scatter import *
    from rocmkern.ops.series import *
    from rocmkern.ops.sets import *
    from rocmkern.ops.sorting import *
    from rocmkern.ops.specialized import *
    from rocmkern.ops.stacking import *
    from rocmkern.ops.statistics import *
    from rocmkern.ops.tuned import *
    from rocmkern.ops.windows import *
    from rocmkern.packages import *
    from rocmkern.quant import *
    from rocmkern.runtime import *
    from rocmkern.tensor import *

__version__ = "0.1.0"

_NAMES: dict[str, tuple[str, ...]] = {
    "build.jit": ("compile",),
    "build.expressions": ("ElementwiseKernel", "ReductionKernel"),
    "build.kernel_library": ("KernelLibrary",),
    "default_dtypes": ("set_default_dtype",),
    "drivers": ("is_hip_available",),
    "engine.graph": ("Graph",),
    "dtypes": (
        "DType", "bfloat16", "bool_", "complex64", "complex128", "dtype", "float8_e4m3", "float16", "float32",
        "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    ),
    "kernels.cache": ("KernelCache", "get_kernel"),
    "runtime": (
        "Device", "DeviceMemory", "Dim3", "Event", "Function", "KernelTime", "Module", "PinnedMemory", "Stream",
        "Trace", "check", "default_device", "devices", "profile", "save_reproducer",
    ),
    "numpy_calls": ("HostFallback", "numpy_fallback"),
    "ops.arranged": ("argwhere", "diag", "hstack", "sliding_window_view", "unravel_index", "vstack"),
    "ops.choosing": (
        "apply_along_axis", "argpartition", "choose", "compress", "digitize", "extract", "fill_diagonal", "flatnonzero",
        "lexsort", "partition", "put_along_axis", "select",
    ),
    "ops.composed": ("clip", "conj", "imag", "positive", "real", "tril", "triu"),
    "ops.conv": ("avg_pool2d", "conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d", "interpolate", "max_pool2d"),
    "ops.creation": (
        "arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like", "linspace", "meshgrid",
        "ones", "ones_like", "zeros", "zeros_like",
    ),
    "ops.datatypes": ("__array_namespace_info__", "can_cast", "finfo", "iinfo", "isdtype", "result_type"),
    "ops.einsum": ("einsum",),
    "ops.elementary": ("angle", "cbrt", "deg2rad", "exp2", "fabs", "fmax", "fmin", "fmod", "rad2deg", "sinc", "unwrap"),
    "ops.familiar": (
        "allclose", "array", "array_equal", "bincount", "dot", "inner", "isclose", "kron", "nan_to_num", "pad", "ravel",
        "split", "swapaxes",
    ),
    "ops.files": ("load", "save", "savez"),
    "ops.grids": (
        "geomspace", "identity", "indices", "ix_", "logspace", "mgrid", "ogrid", "ravel_multi_index", "tril_indices",
        "triu_indices", "vander",
    ),
    "ops.indexing": ("nonzero", "one_hot", "repeat", "searchsorted", "take", "take_along_axis", "where"),
    "ops.items": ("get_item", "set_item"),
    "ops.linear": ("matmul", "tensordot", "vecdot"),
    "ops.manipulation": (
        "astype", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "concat", "contiguous", "copy", "expand_dims",
        "flip", "matrix_transpose", "moveaxis", "permute_dims", "reshape", "roll", "squeeze", "stack", "tile",
        "unstack",
    ),
    "ops.memory": ("empty_cache", "memory_statistics"),
    "ops.nn": (
        "cross_entropy", "elu", "embedding", "layer_norm", "linear", "log_softmax", "normalize", "rms_norm", "rope",
        "scaled_dot_product_attention", "softmax",
    ),
    "ops.numpy_names": (
        "absolute", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "around", "bitwise_not",
        "concatenate", "conjugate", "cross", "cumprod", "cumsum", "diagonal", "fix", "invert", "left_shift", "mod",
        "outer", "power", "right_shift", "rint", "trace", "true_divide",
    ),
    "ops.numpy_sets": ("intersect1d", "setdiff1d", "setxor1d", "union1d", "unique"),
    "ops.passing_nan": (
        "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd",
        "nansum", "nanvar",
    ),
    "ops.polynomials": ("polyfit", "roots"),
    "ops.quantiles": ("median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"),
    "ops.reduction": ("count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "logsumexp"),
    "ops.reductions": (
        "all", "amax", "amin", "any", "argmax", "argmin", "ediff1d", "max", "mean", "min", "prod", "ptp", "std", "sum",
        "var",
    ),
    "ops.rounding": ("round",),
    "ops.rows_binary": (
        "add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
        "copysign", "divide", "equal", "floor_divide", "greater", "greater_equal", "hypot", "less", "less_equal",
        "logaddexp", "logical_and", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "nextafter",
        "not_equal", "pow", "remainder", "subtract",
    ),
    "ops.rows_unary": (
        "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "bitwise_invert", "ceil", "cos", "cosh", "erf", "exp",
        "expm1", "floor", "gelu", "gelu_tanh", "isfinite", "isinf", "isnan", "log", "log1p", "log2", "log10",
        "logical_not", "negative", "reciprocal", "relu", "rsqrt", "sigmoid", "sign", "signbit", "silu", "sin",
        "sinh", "sqrt", "square", "tan", "tanh", "trunc",
    ),
    "ops.scatter": ("index_add", "index_copy", "scatter", "scatter_add"),
    "ops.series": ("convolve", "correlate", "gradient", "interp", "polyval", "trapezoid"),
    "ops.sets": ("isin", "unique_all", "unique_counts", "unique_inverse", "unique_values"),
    "ops.specialized": ("jit_kernels",),
    "ops.statistics": ("average", "corrcoef", "cov", "histogram"),
    "ops.tuned": ("explain_tuned", "use_tuned"),
    "ops.sorting": ("argsort", "sort", "top_k"),
    "ops.stacking": (
        "append", "array_split", "atleast_1d", "atleast_2d", "atleast_3d", "column_stack", "delete", "dsplit", "dstack",
        "fliplr", "flipud", "hsplit", "insert", "rot90", "transpose", "vsplit",
    ),
    "ops.windows": ("bartlett", "blackman", "hamming", "hanning", "i0", "kaiser"),
    "packages": (
        "KernelPackage", "TunedTable", "from_triton", "gemm_a8w8", "gemm_a16w16", "shuffle_weight", "topk_softmax",
    ),
    "quant": ("GgufFile", "GgufTensor", "QTensor", "from_blocks", "load_gguf", "quantize"),
    "tensor": ("Tensor",),
    "constants": ("__array_api_version__", "bool", "e", "inf", "nan", "newaxis", "pi"),
}  # fmt: skip
_HOME = {name: f"rocmkern.{module}" for module, names in _NAMES.items() for name in names}

# What other libraries call what is here under the standard's name: `import rocmkern as np` says where to look.
_ELSEWHERE = {
    "ascontiguousarray": "contiguous", "bmm": "matmul", "cat": "concat", "cholesky": "linalg.cholesky",
    "chunk": "split", "clamp": "clip", "clone": "copy", "cond": "linalg.cond", "det": "linalg.det", "div": "divide",
    "eig": "linalg.eig", "eigh": "linalg.eigh", "eq": "equal", "expand": "broadcast_to", "float_power": "pow",
    "from_numpy": "asarray", "gather": "take_along_axis", "ge": "greater_equal", "gt": "greater", "in1d": "isin",
    "index_select": "take", "inv": "linalg.inv", "inverse": "linalg.inv", "le": "less_equal", "lstsq": "linalg.lstsq",
    "lt": "less", "manual_seed": "random.default_rng", "masked_select": "get_item",
    "matrix_power": "linalg.matrix_power", "matrix_rank": "linalg.matrix_rank", "mm": "matmul", "movedim": "moveaxis",
    "mul": "multiply", "multinomial": "random.default_rng", "ndarray": "Tensor", "ne": "not_equal", "neg": "negative",
    "norm": "linalg.norm", "permute": "permute_dims", "pinv": "linalg.pinv", "qr": "linalg.qr",
    "rand": "random.default_rng", "randint": "random.default_rng", "randn": "random.default_rng",
    "randperm": "random.default_rng", "row_stack": "vstack", "sgn": "sign", "slogdet": "linalg.slogdet",
    "solve": "linalg.solve", "sub": "subtract", "svd": "linalg.svd", "swapdims": "swapaxes", "tensor_split": "split",
    "topk": "top_k", "unsqueeze": "expand_dims",
}  # fmt: skip

_EXTENSIONS = ("distributed", "errors", "fft", "linalg", "models", "random")  # modules of their own

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _EXTENSIONS:
        return import_module(f"rocmkern.{name}")
    if name not in _HOME:
        hint = f"; it has {_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
        raise AttributeError(f"module 'rocmkern' has no attribute {name!r}{hint}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


einops_backend.announce()
dask.announce()


def __dir__() -> list[str]:
    return [*__all__, *_EXTENSIONS, "__version__"]
