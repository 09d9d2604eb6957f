"""Linear algebra: the extension `linalg` of the array API standard. Leading axes of matrices are batches."""

from rocmkern.errors import LinAlgError
from rocmkern.ops.factors import QRResult, SlogdetResult, cholesky, det, inv, matrix_power, qr, slogdet, solve
from rocmkern.ops.linear import matmul, tensordot, vecdot
from rocmkern.ops.manipulation import matrix_transpose
from rocmkern.ops.matrices import cross, diagonal, matrix_norm, outer, trace, vector_norm

__all__ = [
    "LinAlgError", "QRResult", "SlogdetResult", "cholesky", "cross", "det", "diagonal", "inv", "matmul", "matrix_norm",
    "matrix_power", "matrix_transpose", "outer", "qr", "slogdet", "solve", "tensordot", "trace", "vecdot",
    "vector_norm",
]  # fmt: skip
