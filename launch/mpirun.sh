#!/usr/bin/env bash
# Run mndmst on some ranks of this machine, which share its cores and GPUs:
#     bash launch/mpirun.sh 4 solve my-graph -o my-forest.h5
#     bash launch/mpirun.sh 4 info                # which rank gets what
set -euo pipefail
usage="usage: bash launch/mpirun.sh RANKS COMMAND ...
    such as bash launch/mpirun.sh 4 solve my-graph -o my-forest.h5"
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    echo "$usage"
    exit 0
fi
if (($# < 2)); then
    echo "$usage" >&2
    exit 1
fi
ranks=$1
shift
# shellcheck source=launch/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"
check_ranks "$ranks"
mpirun=$(find_mpirun)
exec "$mpirun" -n "$ranks" bash "$root/launch/rank.sh" "$@"
