#!/usr/bin/env bash
# From nothing to a verified forest: install into .venv, solve the small graph in
# partitions/demo on four ranks and verify the forest.
#     bash launch/demo.sh
#     MNDMST_MPI=system bash launch/demo.sh     # with the site's own MPI
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$(bash "$root/launch/venv.sh" mpi)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
forest=$work/forest.h5
graph=$root/partitions/demo

show() {
    echo
    echo "\$ $*"
}

show mpirun -n 4 python -m mndmst solve partitions/demo -o forest.h5
bash "$root/launch/mpirun.sh" 4 solve "$graph" -o "$forest"
show python -m mndmst verify partitions/demo forest.h5
"$venv/bin/python" -m mndmst verify "$graph" "$forest"
