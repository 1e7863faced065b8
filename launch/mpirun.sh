#!/usr/bin/env bash
# Run mndmst on some ranks of this machine, which share its cores and GPUs:
#     bash launch/mpirun.sh 4 solve my-graph -o my-forest.h5
#     bash launch/mpirun.sh 4 info                # which rank gets what
set -euo pipefail
ranks=${1:?usage: bash launch/mpirun.sh RANKS COMMAND ...}
shift
# shellcheck source=launch/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"
check_ranks "$ranks"
mpirun=$(find_mpirun)
exec "$mpirun" -n "$ranks" bash "$root/launch/rank.sh" "$@"
