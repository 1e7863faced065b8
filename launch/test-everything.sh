#!/usr/bin/env bash
# Run what a check before every commit has no time for; arguments go to pytest. It takes
# some hours: every graph in every way on every number of ranks, kills at many moments,
# an hour of random cases with a seed of its own, and, as root with debootstrap, tests in
# an emulated aarch64, on a newer Python and with the oldest packages.
#     bash launch/test-everything.sh
#     bash launch/test-everything.sh tests/mpi/test_solve.py
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$(bash "$root/launch/venv.sh" dev)
cd "$root"
# shellcheck source=launch/env.sh
source launch/env.sh
export MNDMST_EVERY_RUN=1 MNDMST_KILL_POINTS=${MNDMST_KILL_POINTS:-800}
export MNDMST_RESTART_KILLS=${MNDMST_RESTART_KILLS:-200}
export MNDMST_CANARY_KILLS=${MNDMST_CANARY_KILLS:-50}
export MNDMST_SERVICE_KILLS=${MNDMST_SERVICE_KILLS:-200}
export MNDMST_SERVICE_BATCHES=${MNDMST_SERVICE_BATCHES:-1250}
export MNDMST_ROOTS=${MNDMST_ROOTS:-/var/tmp/mndmst-roots}
export MNDMST_SOAK_SECONDS=${MNDMST_SOAK_SECONDS:-600}
if (($# > 0)); then
    exec "$venv/bin/python" -m pytest "$@"
fi
status=0
"$venv/bin/python" -m pytest tests/mpi/test_solve.py tests/mpi/test_points.py \
    tests/system/test_kill_points.py tests/system/test_restart_kills.py \
    tests/system/test_canaries.py tests/system/test_service_kills.py \
    tests/system/test_service_soak.py tests/mpi/test_service.py \
    tests/system/test_other_systems.py tests/system/test_debian_roots.py \
    tests/unit/backends/test_emulated_cuda.py || status=1
"$venv/bin/python" -m tests.peer_suites || status=1
"$venv/bin/python" -m tests.campaign --minutes 60 --seed "$RANDOM" || status=1
exit "$status"
