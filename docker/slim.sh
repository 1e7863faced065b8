#!/bin/sh
# Remove from an environment what only an installation needs: Numba and LLVM, once the
# kernels are compiled; pip and setuptools; tests and headers of packages; the parts of
# zstandard for other Pythons than CPython, and of PyArrow for files in S3.
#   slim.sh ENVIRONMENT
set -eu
python=$1/bin/python
"$python" -m pip uninstall -q -y numba llvmlite setuptools
packages=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
find "$packages" -type d \( -name tests -o -name include \) -prune -exec rm -rf {} +
rm -rf "$packages"/pip "$packages"/pip-* "$packages"/zstandard/_cffi.*.so \
    "$packages"/pyarrow/_s3fs.* "$packages"/pyarrow/libarrow_s3.so*
