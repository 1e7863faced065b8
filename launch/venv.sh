#!/usr/bin/env bash
# Make the virtual environment of this checkout, or bring it up to date, and print
# its path:    venv=$(bash launch/venv.sh dev)
#
#   MNDMST_PYTHON   the Python to use (3.11 or later); by default the newest found
#   MNDMST_VENV     where the environment lies; by default .venv in the checkout
#   MNDMST_MPI      "system" uses the site's own MPI in place of the one from PyPI
set -euo pipefail
extra=${1:?usage: bash launch/venv.sh EXTRA}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=${MNDMST_VENV:-$root/.venv}
mpi=${MNDMST_MPI:-pypi}

say() { echo "mndmst: $*" >&2; }

# Whether a Python runs, is new enough and can make environments: a name on PATH may
# be a shim without a Python behind it, and some systems ship venv apart.
works() {
    "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
        >/dev/null 2>&1 </dev/null
}

find_python() {
    local names=(python3.13 python3.12 python3.11 python3 python)
    [[ -n ${MNDMST_PYTHON:-} ]] && names=("$MNDMST_PYTHON")
    for name in "${names[@]}"; do
        if works "$name"; then
            command -v "$name"
            return
        fi
    done
    say "error: no Python 3.11 or later with venv among: ${names[*]}."
    say "Install one (on Debian: apt install python3 python3-venv), or name one that" \
        "is elsewhere with MNDMST_PYTHON=/path/to/python3."
    return 1
}

if ! works "$venv/bin/python"; then
    python=$(find_python)
    say "making $venv with $("$python" --version)"
    "$python" -m venv --clear "$venv"
fi

# Two lines: what the environment was made of, and the extras that it has. Nothing is to
# be done while the first is the same and the second has the extra.
state="$mpi $root $(cksum <"$root/pyproject.toml")"
stamp=$venv/mndmst-installed
installed=
if [[ $(sed -n 1p "$stamp" 2>/dev/null) == "$state" ]]; then
    installed=$(sed -n 2p "$stamp")
fi
if [[ " $installed " != *" $extra "* ]]; then
    rm -f "$stamp"
    extras="[$extra]"
    [[ $mpi == system && $extra == mpi ]] && extras=""
    say "installing mndmst$extras (the first time this takes a minute or two)"
    if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
        --no-compile --editable "$root$extras" >&2; then
        say "error: pip could not install what is needed; its message is above." \
            "It needs PyPI or a mirror of it (PIP_INDEX_URL)."
        exit 1
    fi
    # pip would compile modules on one core, and a third of them are tests of packages,
    # which no program imports.
    "$venv/bin/python" -W ignore -m compileall -qq -j 0 -x 'site-packages/.*/tests?/' \
        "$venv/lib" >&2 || true
    # The MPI in the environment would be found before the site's.
    if [[ $mpi == system ]]; then
        "$venv/bin/python" -m pip uninstall --quiet --yes mpich >&2
    fi
    case $extra in # an extra has what is in the smaller ones
    dev) extra="dev test mpi" ;;
    test) extra="test mpi" ;;
    esac
    printf '%s\n%s\n' "$state" "$installed $extra" >"$stamp"
fi
echo "$venv"
