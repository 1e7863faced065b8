#!/usr/bin/env bash
# Run the kernels' tests under compute-sanitizer: memcheck (accesses outside arrays, of
# which each gets an allocation of its own), then racecheck (shared memory).
#   tests/gpu/sanitize.sh [-k EXPRESSION and other options of pytest]
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
tests=(tests/gpu/test_cuda.py tests/gpu/test_streamed.py)
[[ $# -gt 0 ]] || set -- -k "not pieces and not memory"  # those are large
run='
import sys, cupy, pytest
cupy.cuda.set_allocator(None)
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "--timeout", "0", *sys.argv[1:]]))
'
status=0
for tool in memcheck racecheck; do
    echo "== $tool"
    compute-sanitizer --tool "$tool" --error-exitcode 1 \
        python3 -c "$run" "${tests[@]}" "$@" || status=1
done
exit "$status"
