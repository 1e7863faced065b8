#!/usr/bin/env bash
# Write a bill of materials (CycloneDX, JSON) of the Python packages of each image of
# docker/Dockerfile, and print their licences; fail at one that is not in the list below.
#
#   bash launch/bom.sh [DIRECTORY] [cpu|cuda]
#
# The files go to DIRECTORY, dist by default: mndmst-cpu.cdx.json, of the images `cpu` and
# `service`, and mndmst-cuda.cdx.json. Versions are those of docker/constraints.txt. The
# packages of Debian in an image are those of its base; `dpkg -l` in it lists them.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
into=${1:-dist}
sets=("${2:-cpu}")
(($# > 1)) || sets=(cpu cuda)
# Each may be used beside, and be distributed with, a package under BSD-3-Clause, as may
# MPICH's own. NVIDIA's libraries may be distributed with programs that use them;
# `cuda-toolkit` has no file and no licence of its own, but names them.
allowed="Apache;BSD;MIT;ISC;PSF-2.0;Python Software Foundation License;LicenseRef-MPICH;NVIDIA"
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
    "$work/$set/bin/pip" install --quiet -c "$root/docker/constraints.txt" \
        "${packages[@]}"
    "$work/$set/bin/pip" uninstall --quiet --yes pip setuptools
    "$work/tools/bin/cyclonedx-py" environment --output-reproducible --validate \
        --pyproject "$root/pyproject.toml" -o "$into/mndmst-$set.cdx.json" \
        "$work/$set/bin/python"
    "$work/tools/bin/pip-licenses" --python "$work/$set/bin/python" --from=mixed \
        --partial-match --allow-only "$allowed" --ignore-packages cuda-toolkit
done
