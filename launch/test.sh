#!/usr/bin/env bash
# Install into .venv what the tests need and run them; arguments go to pytest:
#     bash launch/test.sh
#     bash launch/test.sh tests/unit -k order
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$(bash "$root/launch/venv.sh" dev)
cd "$root"
# shellcheck source=launch/env.sh
source launch/env.sh
# Two files at a time: many tests wait for launchers, timeouts and sockets. In order:
# the files with the fewest tests take longest, and would be last otherwise.
exec "$venv/bin/python" -m pytest -n 2 --dist loadfile --no-loadscope-reorder "$@"
