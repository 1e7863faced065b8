#!/usr/bin/env bash
# What a container of the cluster runs: sshd, as an ordinary user and for that user.
# The first host makes one key, which all hosts and the user share.
set -euo pipefail
key=/cluster/key
own=$key-$(hostname)
if [[ ! -f $key ]]; then
    rm -f "$own"
    ssh-keygen -q -t ed25519 -N '' -f "$own"
    ln "$own" "$key" 2>/dev/null || true # fails where another was first
fi
ssh-keygen -y -f "$key" >/tmp/authorized_keys
# A session has no variables of the image, and its kernels are not in the default place.
# UCX would look for shared memory between containers of one machine.
exec /usr/sbin/sshd -D -e -p 2222 -f /dev/null -h "$key" \
    -o AuthorizedKeysFile=/tmp/authorized_keys -o StrictModes=no -o UsePAM=no \
    -o PasswordAuthentication=no -o PidFile=none -o MaxStartups=100 \
    -o "SetEnv=MPIR_CVAR_CH4_NETMOD=ofi FI_PROVIDER=tcp MNDMST_KERNELS=$MNDMST_KERNELS"
