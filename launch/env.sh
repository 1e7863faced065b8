# shellcheck shell=bash
# The environment of a run, to be sourced; what the user has set is kept.

# With .venv in the checkout its Python and MPI are used, else those on PATH.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=${MNDMST_VENV:-$root/.venv}
if [[ -x $venv/bin/python ]]; then
    export PATH=$venv/bin:$PATH
fi

# Open MPI 4 and 5 need to know that root, and more ranks than cores, are allowed,
# and would bind few ranks to one core each. MPICH needs nothing.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=${OMPI_MCA_rmaps_base_oversubscribe:-1}
export OMPI_MCA_hwloc_base_binding_policy=${OMPI_MCA_hwloc_base_binding_policy:-none}
export PRTE_MCA_rmaps_default_mapping_policy=${PRTE_MCA_rmaps_default_mapping_policy:-:oversubscribe}
export PRTE_MCA_hwloc_default_binding_policy=${PRTE_MCA_hwloc_default_binding_policy:-none}

# Every rank takes its share of the cores; MNDMST_THREADS=N sets another number.

# What CuPy compiles is cached on a disk of the node: on a shared file system the nodes
# would race for the same files. The directory must be one's own, for what lies in it
# is executed; the program checks those above it, too.
cache=${MNDMST_CACHE_DIR:-${TMPDIR:-/tmp}/mndmst-cache-$(id -u)}
(umask 077 && mkdir -p "$cache")
if [[ ! -O $cache ]]; then
    echo "mndmst: error: $cache belongs to another user; set MNDMST_CACHE_DIR" >&2
    exit 1
fi
export CUPY_CACHE_DIR=${CUPY_CACHE_DIR:-$cache/cupy}

# For the scripts that start ranks.
check_ranks() {
    if [[ ! $1 =~ ^[1-9][0-9]*$ ]]; then
        echo "mndmst: error: '$1' is not a number of ranks; give it before the command" >&2
        exit 1
    fi
}

find_mpirun() {
    if ! command -v mpirun; then
        echo "mndmst: error: no mpirun on PATH. Load the module of your MPI, or" \
            "install one from PyPI: pip install mpich" >&2
        return 1
    fi
}
