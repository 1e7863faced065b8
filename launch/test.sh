#!/usr/bin/env bash
# Install into .venv what the tests need and run them. Without arguments the slow ones are
# left out: 3 to 6 minutes on 2 quiet cores. Arguments go to pytest in place of that:
#     bash launch/test.sh
#     bash launch/test.sh tests                    # all, 20 to 40 minutes
#     bash launch/test.sh tests/unit -k order
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$(bash "$root/launch/venv.sh" test)
cd "$root"
# shellcheck source=launch/env.sh
source launch/env.sh
# Tests start a thousand processes, each of which would compile the modules it imports.
unset PYTHONDONTWRITEBYTECODE
"$venv/bin/python" -m compileall -q mndmst || true
if (($# == 0)); then
    # Two workers that need one kernel would both compile it, or wait for each other.
    "$venv/bin/python" -m mndmst compile -q
    set -- -m "not slow"
fi
# Two files at a time: many tests wait for launchers, timeouts and sockets. pytest-randomly
# shuffles files and tests: the report begins with the seed, which --randomly-seed=SEED
# repeats. xdist would sort the files again, those with the fewest tests last.
exec "$venv/bin/python" -m pytest -n 2 --dist loadfile --no-loadscope-reorder "$@"
