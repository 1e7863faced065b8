#!/usr/bin/env bash
# Run mndmst on several machines, started over ssh, under MPICH or Open MPI:
#     bash launch/hosts.sh hosts 4 solve /shared/graph -o /shared/forest.h5
# HOSTS has a name on each line, first that of this machine. This checkout, its .venv,
# graph and forest lie under the same path everywhere; ssh must not ask for a password.
set -euo pipefail
usage="usage: bash launch/hosts.sh HOSTS RANKS COMMAND ..."
hostfile=${1:?$usage} ranks=${2:?$usage}
shift 2
# shellcheck source=launch/env.sh
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"
check_ranks "$ranks"
mpirun=$(find_mpirun)

if [[ ! -r $hostfile || -d $hostfile ]]; then
    echo "mndmst: error: $hostfile is not a readable file; give one with a" \
        "machine's name on each line" >&2
    exit 1
fi
mapfile -t hosts < <(sed 's/#.*//' "$hostfile" | awk 'NF { print $1 }')
if ((${#hosts[@]} == 0)); then
    echo "mndmst: error: $hostfile names no machine; write one on each line" >&2
    exit 1
fi
total=$((ranks * ${#hosts[@]}))

case $("$mpirun" --version) in
*"Open MPI"* | *prte*)
    printf -v list "%s:$ranks," "${hosts[@]}"
    # Open MPI passes on only the variables named here.
    options=(--host "${list%,}" --map-by "ppr:$ranks:node")
    for name in $(compgen -e); do
        case $name in
        MNDMST_* | NUMBA_* | PYTHONPATH) options+=(-x "$name") ;;
        esac
    done
    ;;
*) # MPICH and its relatives
    printf -v list "%s," "${hosts[@]}"
    options=(-launcher ssh -hosts "${list%,}" -ppn "$ranks")
    ;;
esac

# A machine that is out of reach makes ranks end the job (see --timeout), but keeps
# every mpirun waiting for it. So: when no rank has been here for ten seconds, end it.
guard() {
    set +e
    local mpirun=$1 seen=0 absent=0
    while sleep 1 && kill -0 "$mpirun"; do
        if pgrep -P "$mpirun,$(pgrep -d, -P "$mpirun")" '^python'; then
            seen=1 absent=0
        elif ((seen && ++absent >= 10)); then
            pkill -P "$mpirun" # its connections
            kill "$mpirun"
            ((absent < 15)) || kill -KILL "$mpirun"
        fi
    done
}
(guard $$ </dev/null >/dev/null 2>&1 &)

# By its full path mpirun finds its helpers on the other machines under that path too.
exec "$mpirun" "${options[@]}" -n "$total" bash "$root/launch/rank.sh" "$@"
