#!/usr/bin/env bash
# Build wheels that carry compiled kernels, so that no first run compiles: one for Linux
# on x86-64, one for Linux on aarch64, and one without kernels for all other systems.
#
#   bash launch/wheel.sh [DIRECTORY] [--cuda]
#
# The wheels go to DIRECTORY, dist by default; each line says a size. The sources stay as
# they are. With --cuda the wheels also carry GPU modules for sm_80, sm_90 and PTX. Where
# the Python of env.sh lacks what compiles kernels, .venv of the checkout gets it, with
# --cuda CuPy and NVRTC of CUDA 13, too. Two builds of a commit are the same bytes:
# SOURCE_DATE_EPOCH is the time of the commit, unless it is set.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=launch/env.sh
source "$root/launch/env.sh"
into=dist
if [[ $# -gt 0 && $1 != -* ]]; then
    into=$1
    shift
fi
extra=mpi compilers="import h5py, numba" cuda=()
if [[ $# -gt 0 ]]; then
    if [[ $# -gt 1 || $1 != --cuda ]]; then
        echo "usage: bash launch/wheel.sh [DIRECTORY] [--cuda]" >&2
        exit 1
    fi
    cuda=(--cuda)
    extra+=,cuda compilers+=", cupy; cupy.cuda.nvrtc.getVersion()"
fi
if ! python -c "$compilers" 2>/dev/null; then
    venv=$(bash "$root/launch/venv.sh" "$extra")
    export PATH=$venv/bin:$PATH
    # NVRTC of the same major version of CUDA, where the system has none
    python -c "$compilers" 2>/dev/null ||
        python -m pip install --quiet "cuda-toolkit[nvrtc,cudart]==13.*"
fi
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct)}
umask 022
mkdir -p "$into"
into=$(cd "$into" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Copy the sources, with the kernels of a level and of GPUs, and the digests by which
# native/shipped.py trusts them.
prepare() {
    local level=$1
    cd "$work"
    rm -rf source
    mkdir source
    cp -r "$root"/{mndmst,partitions,pyproject.toml,README.md,LICENSE} "$work/source"
    rm -rf "$work/source/mndmst/native/objects"
    chmod -R u=rwX,go=rX "$work/source"
    [[ -n $level ]] || return 0
    mkdir "$work/source/mndmst/native/objects"
    cp -r "$work/objects/$level"-* "$work/objects/compiler-versions" \
        "$work/source/mndmst/native/objects"
    if ((${#cuda[@]})); then
        cp -r "$work/objects/cuda"* "$work/source/mndmst/native/objects"
    fi
    cd source
    python - <<'END'
from pathlib import Path
from mndmst.native.shipped import digest_of

objects = Path("mndmst/native/objects")
files = sorted(file for file in objects.rglob("*") if file.is_file())
lines = [
    f'    "{file.relative_to(objects).as_posix()}": "{digest_of(file.read_bytes())}",\n'
    for file in files
]
text = '"""Digests of the files of compiled code here."""\n\n'
(objects / "__init__.py").write_text(f"{text}DIGESTS = {{\n{''.join(lines)}}}\n")
END
}

# Build the prepared sources with a platform tag, or as they are.
build() {
    cd "$work/source"
    python -m pip wheel --quiet --no-deps --wheel-dir "$work/wheels" "$@" .
}

prepare ""
build
cd "$work/source"
python -m mndmst compile --into "$work/objects" --level armv8.1-a &
python -m mndmst compile --into "$work/objects" --level x86-64-v3 "${cuda[@]}"
wait $!
for target in x86-64-v3:x86_64 armv8.1-a:aarch64; do
    prepare "${target%:*}"
    build --config-settings=--build-option=--plat-name="manylinux2014_${target#*:}"
done
for wheel in "$work"/wheels/mndmst-*.whl; do
    cp "$wheel" "$into"
    echo "$into/${wheel##*/}: $(stat -c %s "$wheel" | numfmt --to=si)B"
done
