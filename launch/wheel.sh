#!/usr/bin/env bash
# Build a wheel that carries compiled kernels, so that no first run compiles:
#
#   bash launch/wheel.sh [DIRECTORY] [options of "mndmst compile", such as --cuda]
#
# The wheel goes to DIRECTORY, dist by default. The sources stay as they are. Where the
# Python of env.sh lacks what compiles kernels, .venv of the checkout gets it: with --cuda
# CuPy and NVRTC of CUDA 13, too. MNDMST_VENV names an environment with other versions.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=launch/env.sh
source "$root/launch/env.sh"
into=dist
if [[ $# -gt 0 && $1 != -* ]]; then
    into=$1
    shift
fi
extra=mpi compilers="import h5py, numba"
if [[ " $* " == *" --cuda "* ]]; then
    extra+=,cuda compilers+=", cupy; cupy.cuda.nvrtc.getVersion()"
fi
if ! python -c "$compilers" 2>/dev/null; then
    venv=$(bash "$root/launch/venv.sh" "$extra")
    export PATH=$venv/bin:$PATH
    # NVRTC of the same major version of CUDA, where the system has none
    python -c "$compilers" 2>/dev/null ||
        python -m pip install --quiet "cuda-toolkit[nvrtc,cudart]==13.*"
fi
mkdir -p "$into"
into=$(cd "$into" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$root"/{mndmst,partitions,pyproject.toml,README.md,LICENSE} "$work"
rm -rf "$work/mndmst/native/objects"
cd "$work"
# Code from here is loaded only if no other user can write to it
(umask 022 && python -m mndmst compile --into mndmst/native/objects "$@")
python -m pip wheel --quiet --no-deps --wheel-dir "$into" .
ls "$into"/mndmst-*.whl
