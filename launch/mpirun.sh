#!/usr/bin/env bash
# Run mndmst on some ranks of this machine:
#     bash launch/mpirun.sh 4 solve my-graph -o my-forest.h5
# With .venv in the checkout its Python and MPI are used, else those on PATH.
set -euo pipefail
ranks=$1
shift
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=${MNDMST_VENV:-$root/.venv}
[[ -x $venv/bin/python ]] && PATH=$venv/bin:$PATH
# shellcheck source=launch/env.sh
source "$root/launch/env.sh"

if ! command -v mpirun >/dev/null; then
    echo "mndmst: error: no mpirun on PATH. Load the module of your MPI, or install" \
        "one from PyPI: pip install mpich" >&2
    exit 1
fi
exec mpirun -n "$ranks" python3 -m mndmst "$@"
