"""Linear algebra: the extension `linalg` of the array API standard, and NumPy's cond, lstsq and norm.

Leading axes of matrices are batches.
"""

from rocmkern.errors import LinAlgError
from rocmkern.ops.eigen import (
    EighResult,
    EigResult,
    SVDResult,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    matrix_norm,
    matrix_rank,
    pinv,
    svd,
    svdvals,
)
from rocmkern.ops.factors import QRResult, SlogdetResult, cholesky, det, inv, matrix_power, qr, slogdet, solve
from rocmkern.ops.linear import matmul, tensordot, vecdot
from rocmkern.ops.manipulation import matrix_transpose
from rocmkern.ops.matrices import cross, diagonal, outer, trace, vector_norm
from rocmkern.ops.solutions import LstsqResult, cond, lstsq, norm

__all__ = [
    "EigResult", "EighResult", "LinAlgError", "LstsqResult", "QRResult", "SVDResult", "SlogdetResult", "cholesky",
    "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "matmul", "matrix_norm",
    "matrix_power", "matrix_rank", "matrix_transpose", "norm", "outer", "pinv", "qr", "slogdet", "solve", "svd",
    "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip
