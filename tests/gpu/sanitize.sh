#!/usr/bin/env bash
# Run the kernels' tests under compute-sanitizer: memcheck (accesses outside arrays, of
# which each gets an allocation of its own), then racecheck (shared memory), which takes
# a hundred times as long and gets every shape of graph once.
#   tests/gpu/sanitize.sh [memcheck|racecheck]
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
declare -A chosen=(
    [memcheck]="not pieces and not memory"  # those are large
    [racecheck]="test_msf and uint32-uint32"
)
run='
import sys, cupy, pytest
cupy.cuda.set_allocator(None)
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "--timeout", "0", *sys.argv[1:]]))
'
status=0
for tool in ${1:-memcheck racecheck}; do
    echo "== $tool"
    compute-sanitizer --tool "$tool" --error-exitcode 1 python3 -c "$run" \
        tests/gpu/test_{cuda,streamed,placing}.py -k "${chosen[$tool]}" || status=1
done
exit "$status"
