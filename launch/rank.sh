#!/usr/bin/env bash
# What every rank executes, on its own machine: first the environment, then mndmst.
#     srun --mpi=pmi2 -n 8 bash launch/rank.sh solve my-graph -o my-forest.h5
set -euo pipefail
# shellcheck source=launch/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"
exec python3 -u -m mndmst "$@"
