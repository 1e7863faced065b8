#!/usr/bin/env bash
# Debian systems in directories, for tests, as root: another release with another
# Python, or another architecture, which qemu-user emulates. Mounts are those of one
# command and end with it.
#
#   tests/debian_root.sh up DIR SUITE ARCH    make one with a virtual environment in
#                                             /venv; nothing to do if it is there
#   tests/debian_root.sh on DIR COMMAND...    run a command in it, this checkout in /src
set -euo pipefail
action=$1 dir=$2
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
binfmt=/proc/sys/fs/binfmt_misc

# Let the kernel start programs of aarch64 by qemu, which it opens now (flag F): there
# is none in the root.
emulate() {
    local magic mask
    [[ -e $binfmt/register ]] || mount -t binfmt_misc none "$binfmt"
    grep -qs '^magic 7f454c46020101.*b700$' "$binfmt"/* 2>/dev/null && return
    magic='\x7f\x45\x4c\x46\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
    mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
    echo -n ":mndmst-aarch64:M::$magic:$mask:$(command -v qemu-aarch64-static):F" \
        >"$binfmt/register"
}

# The processor that qemu emulates, for the root: before version 8.1 it shows the
# host's in /proc/cpuinfo.
emulated_processor() {
    echo "processor : 0"
    echo "Features  : fp asimd aes pmull sha1 sha2 crc32 atomics fphp asimdhp asimdrdm"
}

# What pip on this machine is told of its index and its certificates, for the root.
pip_settings() {
    echo "[global]"
    echo "cert = /etc/ssl/certs/ca-certificates.crt"
    python3 -m pip config list 2>/dev/null | grep -v file: |
        sed -nE "s/^(global|:env:)\.(index-url|extra-index-url|trusted-host|proxy)='(.*)'$/\2 = \3/p" |
        sort -u -t= -k1,1
}

# Run a command in the root, with mounts and an environment of its own.
inside() {
    # shellcheck disable=SC2016
    unshare --mount --propagation private bash -c '
        set -e
        dir=$1 source=$2
        shift 2
        for system in proc sys dev; do mount --rbind "/$system" "$dir/$system"; done
        [[ ! -e $dir/mndmst-cpuinfo ]] ||
            mount --bind "$dir/mndmst-cpuinfo" "$dir/proc/cpuinfo"
        mkdir -p "$dir/src"
        mount --bind -o ro "$source" "$dir/src"
        exec env -i PATH=/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
            LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=/src \
            MNDMST_CACHE_DIR=/root/mndmst-cache chroot "$dir" "$@"
    ' _ "$dir" "$source" "$@"
}

make() {
    local suite=$1 arch=$2 foreign=() packages
    [[ -e $dir/mndmst-ready ]] && return
    [[ $arch == "$(dpkg --print-architecture)" ]] || foreign=(--foreign)
    packages=python3,python3-venv,ca-certificates,git
    debootstrap --variant=minbase --arch="$arch" --include=$packages "${foreign[@]}" \
        "$suite" "$dir"
    if ((${#foreign[@]})); then
        env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
            chroot "$dir" /debootstrap/debootstrap --second-stage
    fi
    cp /etc/ssl/certs/ca-certificates.crt "$dir/etc/ssl/certs/"
    cp /etc/resolv.conf "$dir/etc/"
    pip_settings >"$dir/etc/pip.conf"
    inside python3 -m venv /venv
    touch "$dir/mndmst-ready"
}

case $action in
up)
    [[ $4 != arm64 ]] || emulate
    make "$3" "$4"
    [[ $4 != arm64 ]] || emulated_processor >"$dir/mndmst-cpuinfo"
    ;;
on)
    inside "${@:3}"
    ;;
esac
