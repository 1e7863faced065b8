#!/usr/bin/env bash
# Write a bill of materials (CycloneDX, JSON) of the Python packages of each image of
# docker/Dockerfile, and print their licences. Fail at a licence that is not in the list
# below, and at a version that docker/constraints.txt does not have.
#
#   bash launch/bom.sh [DIRECTORY] [cpu|cuda]
#
# The files go to DIRECTORY, dist by default: mndmst-cpu.cdx.json, of the images `cpu` and
# `service`, and mndmst-cuda.cdx.json. The packages of Debian in an image are those of its
# base; `dpkg -l` in it lists them.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
into=${1:-dist}
sets=("${2:-cpu}")
(($# > 1)) || sets=(cpu cuda)
# Each may be used beside, and be distributed with, a package under BSD-3-Clause, as may
# MPICH's own. NVIDIA's libraries may be distributed with programs that use them;
# `cuda-toolkit` has no file and no licence of its own, but names them. Names are compared
# as a whole: a part of "GPL-3.0-only AND BSD-3-Clause" is allowed, too.
allowed="MIT;MIT License;BSD-3-Clause;BSD License;Apache-2.0;PSF-2.0"
allowed+=";Apache-2.0 AND BSD-2-Clause"
allowed+=";BSD-2-Clause AND Apache-2.0 WITH LLVM-exception"
allowed+=";BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0"
allowed+=";LicenseRef-MPICH;LicenseRef-NVIDIA-Proprietary"
mkdir -p "$into"
into=$(cd "$into" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet cyclonedx-bom pip-licenses
for set in "${sets[@]}"; do
    python3 -m venv "$work/$set"
    packages=("$root[mpi,embeddings,generate,formats,serve,http]")
    [[ $set == cpu ]] || packages+=("cupy-cuda13x[ctk]")
    # Editable: a build would leave its folder in the sources
    "$work/$set/bin/pip" install --quiet -c "$root/docker/constraints.txt" \
        --editable "${packages[@]}"
    if "$work/$set/bin/pip" freeze --exclude mndmst --exclude cuda-toolkit |
        grep -vxFf "$root/docker/constraints.txt"; then
        echo "mndmst: error: docker/constraints.txt has other versions, or none" >&2
        exit 1
    fi
    "$work/$set/bin/pip" uninstall --quiet --yes pip setuptools
    "$work/tools/bin/cyclonedx-py" environment --output-reproducible --validate \
        --gather-license-texts \
        --pyproject "$root/pyproject.toml" -o "$into/mndmst-$set.cdx.json" \
        "$work/$set/bin/python"
    "$work/tools/bin/pip-licenses" --python "$work/$set/bin/python" --from=mixed \
        --allow-only "$allowed" --ignore-packages cuda-toolkit
done
