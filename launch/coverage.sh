#!/usr/bin/env bash
# Run the tests that are not slow, and print which share of each room's statements they
# execute, then the lines that none does. Arguments go to pytest in place of that:
#     bash launch/coverage.sh
#     bash launch/coverage.sh tests/unit/io
# Statements of processes that tests start count. Kernels are compiled, so their sources
# have none, and `backends/cuda` and `points/cuda` need a GPU. Other reasons for lines
# that remain: tests of the service, its client and most commands are slow, and
# `coverage.sh tests/mpi tests/system` runs them; methods of the service that Arrow's
# threads call, which are not traced; `mpirun`'s failures, other hosts, other systems and
# full disks; and checks of data that no caller gives.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$(bash "$root/launch/venv.sh" dev)
cd "$root"
# shellcheck source=launch/env.sh
source launch/env.sh
(($#)) || set -- -m "not slow"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/settings" <<END
[run]
source = $root/mndmst
omit =
    */kernels/*
    $root/mndmst/backends/cpu/*
    $root/mndmst/certificate/kernels.py
    $root/mndmst/native/self_test.py
    $root/mndmst/tree/exchange.py
    $root/mndmst/tree/kruskal_tree.py
    $root/mndmst/tree/rooted.py
data_file = $work/data
parallel = true
patch = subprocess
relative_files = true
[report]
exclude_also = if TYPE_CHECKING:
END
"$venv/bin/python" -m mndmst compile -q
status=0
export COVERAGE_RCFILE=$work/settings
"$venv/bin/coverage" run -m pytest -n 2 --dist loadfile "$@" || status=$?
"$venv/bin/coverage" combine --quiet
"$venv/bin/coverage" json --quiet -o "$work/report.json"
"$venv/bin/python" tests/coverage_by_room.py "$work/report.json"
exit "$status"
