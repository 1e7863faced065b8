"""Let Numba begin without SciPy, which it would ask whether there is a BLAS.

It does so before it loads the first kernel, and takes a third of a second and a dozen
megabytes for it in every process. No kernel here has any linear algebra.
"""

import sys
from importlib.util import find_spec

ASKED_FOR = "scipy.linalg.cython_blas"


def leave_out_blas() -> None:
    """Import what asks for BLAS, with none to be found.

    Other users of Numba in this process find one all the same: the answer is put
    right, and only decides whether `np.cov` is refused at once.
    """
    if ASKED_FOR in sys.modules or "numba.np.arraymath" in sys.modules:
        return
    sys.modules[ASKED_FOR] = None  # type: ignore[assignment]
    try:
        from numba.np import arraymath
    finally:
        del sys.modules[ASKED_FOR]
    arraymath._HAVE_BLAS = find_spec("scipy") is not None
