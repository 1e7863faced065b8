#!/usr/bin/env bash
# Walk through the README with an installed wheel that carries kernels: in an empty home,
# without a compiler, the checkout out of reach. Fails where a step fails, or if anything
# has been compiled. In a root of tests/debian_root.sh, which has this checkout in /src:
#
#   /src/tests/installed_wheel.sh WHEEL
set -euo pipefail
wheel=$1
unset PYTHONPATH MNDMST_CACHE_DIR
HOME=$(mktemp -d)
export HOME
trap 'rm -rf "$HOME"' EXIT
cd "$HOME"
mkdir .cache
if command -v cc gcc clang; then
    echo "a compiler is here" >&2
    exit 1
fi
extras=mpi,serve,plot left_out=()
if [[ $(uname -m) == x86_64 ]]; then
    extras+=,generate
    city=(rgg2d city --n 200000 --degree 12 --parts 16) rings=1000000
else
    # KaGen has no wheels. The emulator is slow, and does not copy memory between
    # processes, which MPICH asks for.
    city=(rmat city --scale 10 --edge-factor 6 --parts 4) rings=5000
    export MPIR_CVAR_CH4_CMA_ENABLE=0
    left_out=(--ignore kernels/test_freed_memory.py) # it counts the emulator's memory
fi

step() {
    echo "$ $*"
    "$@"
}

# Fail if an answer has not come from the wheel's kernels alone.
nothing_compiled() {
    local compiled
    compiled=$(find "$HOME/.cache" -name '*.o')
    [[ -z $compiled ]] || { echo "compiled: $compiled" >&2 && exit 1; }
}

python3 -m venv venv
# shellcheck disable=SC1091
source venv/bin/activate
pip install -q "$wheel"
pip check
time step python -m mndmst
nothing_compiled
python - <<'PYTHON'
import numpy as np

import mndmst

forest = mndmst.minimum_spanning_forest([0, 1, 2], [1, 2, 0], [5.0, 3.0, 4.0])
assert list(forest) == [(0, 2, 4.0), (1, 2, 3.0)]
points = np.random.default_rng(1).normal(0, 1, (600, 2))
points[::2] += 10
labels = mndmst.HDBSCAN(min_cluster_size=50).fit(points).labels_
assert set(labels[::2].tolist()) & set(labels[1::2].tolist()) <= {-1}
np.savetxt("points.csv", points, delimiter=",", header="x,y", comments="")
np.savetxt("new.csv", points[:9] + 0.01, delimiter=",", header="x,y", comments="")
PYTHON
mndmst info | grep "no MPI library"
nothing_compiled

pip install -q "$wheel[$extras]"
pip check
step mndmst generate "${city[@]}" --weights float64 -q
step mpirun -n 2 python -m mndmst solve city -o city.forest.h5
step mpirun -n 2 python -m mndmst verify city city.forest.h5
step mndmst hdbscan rings --count "$rings" --min-samples 8 \
    --min-cluster-size $((rings / 100)) --plot rings.png
step mndmst hdbscan points.csv -o model.h5 --prediction-data
step mndmst hdbscan --model model.h5 --insert new.csv -o labels.csv
step mpirun -n 2 python -m mndmst serve city --address-file address -q &
until test -e address; do
    sleep 0.1
    kill -0 $!
done
step mndmst client address solve city --weights "2 * weight + 1"
step mndmst client address path-max city 0 5
step mndmst client address shutdown
wait $!
nothing_compiled

# The units bring kernels of their own, which llvmlite compiles.
pip install -q scipy pytest pytest-timeout hypothesis packaging pyyaml
cp -r /src/{tests,partitions,pyproject.toml} .
python -c 'import mndmst; assert "site-packages" in mndmst.__file__'
cd tests/unit
python -m pytest --rootdir="$HOME" -q -p no:cacheprovider --timeout 3600 \
    "${left_out[@]}" kernels points/test_{points_forest,scale}.py \
    native/test_{processor_levels,linker,kernel}.py
