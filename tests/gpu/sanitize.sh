#!/usr/bin/env bash
# Run the kernels' tests under compute-sanitizer: memcheck (accesses outside arrays, of
# which each gets an allocation of its own), then racecheck (shared memory), which takes
# a hundred times as long and gets every shape of graph once. All GPUs share the tests.
#   tests/gpu/sanitize.sh [memcheck|racecheck]
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
declare -A chosen=(
    [memcheck]="not pieces and not memory"  # those are large
    [racecheck]="test_msf and uint32-uint32"
)
run='
import os, sys, cupy, pytest

class Share:
    def pytest_collection_modifyitems(self, items):
        items[:] = items[int(os.environ["SHARE"]) :: int(os.environ["SHARES"])]

cupy.cuda.set_allocator(None)
options = ["-q", "-p", "no:cacheprovider", "--timeout", "0", *sys.argv[1:]]
sys.exit(pytest.main(options, plugins=[Share()]))
'
SHARES=$(nvidia-smi --list-gpus | wc -l)
export SHARES
check() {
    CUDA_VISIBLE_DEVICES=$1 SHARE=$1 compute-sanitizer --tool "$2" --error-exitcode 1 \
        python3 -c "$run" tests/gpu/test_{cuda,streamed,placing}.py -k "${chosen[$2]}"
}
status=0
for tool in ${1:-memcheck racecheck}; do
    jobs=()
    for ((gpu = 0; gpu < SHARES; gpu++)); do
        check "$gpu" "$tool" > >(sed "s/^/$tool, GPU $gpu: /") 2>&1 &
        jobs+=($!)
    done
    for job in "${jobs[@]}"; do
        wait "$job" || status=1
    done
done
wait # for what is still being printed
exit "$status"
