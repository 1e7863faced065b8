#!/usr/bin/env bash
# From nothing to a verified forest: install into .venv, solve the small graph in
# partitions/demo on four ranks and verify the forest, demo.forest.h5 in the checkout.
#     bash launch/demo.sh
#     MNDMST_MPI=system bash launch/demo.sh     # with the site's own MPI
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
MNDMST_VENV=$(realpath -m "${MNDMST_VENV:-$root/.venv}")
export MNDMST_VENV
cd "$root"
venv=$(bash launch/venv.sh mpi)
forest=demo.forest.h5

run() {
    echo
    echo "\$ $*"
    "$@"
}

run bash launch/mpirun.sh 4 solve partitions/demo -o "$forest"
run "$venv/bin/python" -m mndmst verify partitions/demo "$forest"
cat <<END

The forest is in $root/$forest. Next:
    cd $(printf %q "$root") && . $(printf %q "$venv/bin/activate")
    mndmst convert $forest demo.forest.csv    # the forest as a table
    mndmst partition YOUR-EDGES.csv mine         # your graph; mndmst solve mine follows
    less mndmst/docs/tutorial.md                 # from a road file to clusters
END
