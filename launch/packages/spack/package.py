"""Spack package; copy it to packages/py_mndmst/package.py of a package repository."""

from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage


class PyMndmst(PythonPackage):
    """Exact minimum spanning forests on MPI ranks with CPU and GPU workers."""

    homepage = "https://doi.org/10.1145/3225058.3225146"
    # The archive that `python -m build --sdist` makes in a checkout
    url = "file:///path/to/mndmst-1.0.0.tar.gz"
    manual_download = True

    license("BSD-3-Clause")

    version("1.0.0")

    variant("cuda", default=False, description="GPU workers")
    variant("formats", default=True, description="SciPy, Arrow, zstd")
    variant("plot", default=False, description="Pictures and pages")

    with default_args(type="build"):
        depends_on("py-setuptools@77:")

    with default_args(type=("build", "run")):
        depends_on("python@3.11:")
        depends_on("py-numpy@2.0:")
        depends_on("py-numba@0.62:")
        depends_on("py-h5py@3.11:~mpi")
        depends_on("py-mpi4py@4.1:")
        depends_on("py-cupy@14.0:", when="+cuda")
        depends_on("py-scipy@1.14:", when="+formats")
        depends_on("py-pyarrow@19.0.1:", when="+formats")
        depends_on("py-zstandard@0.22:", when="+formats")
        depends_on("py-matplotlib@3.10.7:", when="+plot")

    import_modules = ["mndmst"]

    @run_after("install")
    def compile_kernels(self):
        """Compile all kernels once, for every user of the installation."""
        python("-m", "mndmst", "compile", "--into", self.prefix.kernels)

    def setup_run_environment(self, env):
        """Let runs find the compiled kernels."""
        env.set("MNDMST_KERNELS", self.prefix.kernels)
