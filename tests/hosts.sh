#!/usr/bin/env bash
# Several hosts on one Linux machine, for tests, as root. A host is a process tree in
# namespaces of its own (network, host name, mounts, processes) with an sshd; a switch
# in one more network namespace joins them. All of it ends with the processes: nothing
# is left in /etc, /run or the machine's own network. Files are shared, but /dev/shm.
#
#   tests/hosts.sh up DIR [N]             start node1 to nodeN (4), listed in DIR/hosts
#   tests/hosts.sh on DIR HOST COMMAND... run a command on a host, where one is here
#   tests/hosts.sh rate DIR RATE [BURST]  shape all links both ways, such as 1gbit
#   tests/hosts.sh cut DIR HOST           take a host off the network,
#   tests/hosts.sh mend DIR HOST          and put it back
#   tests/hosts.sh down DIR               end all, with whatever runs there
#   tests/hosts.sh run DIR N COMMAND...   the hosts are there while a command runs
set -euo pipefail
action=$1 dir=$(realpath "$2")
net=10.77.0

# Start a command in namespaces that end with it, and note its process.
isolate() {
    local name=$1
    shift
    setsid unshare --net --uts --mount --pid --fork --kill-child --mount-proc "$@" \
        >"$dir/$name.log" 2>&1 </dev/null &
    echo $! >"$dir/$name.pid"
    disown
}

isolated() { [[ ! /proc/$(pid "$1")/ns/net -ef /proc/self/ns/net ]]; }
pid() { cat "$dir/$1.pid"; }
inside() { nsenter --net="/proc/$(pid "$1")/ns/net" "${@:2}"; }
switch() { inside switch "$@"; }
hosts() { cat "$dir/hosts"; }

# The first process of a host: sshd, which sees its own name, hosts and settings.
boot() {
    local host=$1
    hostname "$host"
    mount -t tmpfs -o mode=1777 tmpfs /dev/shm
    mount -t tmpfs -o mode=755 tmpfs /run
    mkdir /run/sshd
    mount --bind "$dir/etc-hosts" /etc/hosts
    mount --bind "$dir/ssh_config" /etc/ssh/ssh_config
    exec /usr/sbin/sshd -D -e -f "$dir/sshd_config"
}

write_settings() {
    local number=$1 i
    for key in user host; do
        [[ -f $dir/$key-key ]] || ssh-keygen -q -t ed25519 -N '' -f "$dir/$key-key"
    done
    echo "127.0.0.1 localhost" >"$dir/etc-hosts"
    : >"$dir/hosts"
    for ((i = 1; i <= number; i++)); do
        echo "$net.$i node$i" >>"$dir/etc-hosts"
        echo "node$i" >>"$dir/hosts"
    done
    cat >"$dir/sshd_config" <<END
HostKey $dir/host-key
AuthorizedKeysFile $dir/user-key.pub
StrictModes no
PermitRootLogin yes
UsePAM no
UseDNS no
PrintMotd no
MaxStartups 100
PidFile none
END
    cat >"$dir/ssh_config" <<END
Host *
    IdentityFile $dir/user-key
    IdentitiesOnly yes
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    LogLevel ERROR
END
}

up() {
    local host i=0
    mkdir -p "$dir"
    write_settings "${1:-4}"
    isolate switch sleep infinity
    for host in $(hosts); do
        isolate "$host" bash "${BASH_SOURCE[0]}" boot "$dir" "$host"
    done
    for host in switch $(hosts); do
        wait_until "no namespaces for $host" isolated "$host"
    done
    switch ip link add bridge type bridge
    switch ip link set bridge up
    for host in $(hosts); do
        i=$((i + 1))
        switch ip link add "$host" type veth peer name eth0 netns "$(pid "$host")"
        switch ip link set "$host" master bridge up
        inside "$host" ip address add "$net.$i/24" dev eth0
        inside "$host" ip link set eth0 up
        inside "$host" ip link set lo up
    done
    for host in $(hosts); do
        wait_until "$host does not answer" on node1 ssh "$host" true
    done
}

# Try a command for ten seconds; unshare needs a moment to make the namespaces.
wait_until() {
    local message=$1 i
    shift
    for ((i = 0; i < 100; i++)); do
        "$@" 2>>"$dir/up.log" && return
        sleep 0.1
    done
    echo "hosts.sh: error: $message; see $dir/*.log" >&2
    return 1
}

# Two ranks on different hosts must not find a way around the network, which UCX does:
# to it they are on one machine.
on() {
    local host=$1 first
    shift
    first=$(pgrep -P "$(pid "$host")")
    MPIR_CVAR_CH4_NETMOD=ofi FI_PROVIDER=tcp \
        nsenter --target "$first" --net --uts --mount --pid --wdns="$PWD" --no-fork \
        sh -c '"$@"; exit $?' sh "$@" # a child of this shell is in the host
}

rate() {
    local host shape=(root tbf rate "$1" burst "${2:-512kb}" latency 50ms)
    for host in $(hosts); do
        switch tc qdisc replace dev "$host" "${shape[@]}"
        inside "$host" tc qdisc replace dev eth0 "${shape[@]}"
    done
}

cut() { switch ip link set "$1" down; }
mend() { switch ip link set "$1" up; }

down() {
    local file
    for file in "$dir"/*.pid; do
        [[ -e $file ]] || continue
        kill -KILL "$(cat "$file")" 2>/dev/null || true
        rm "$file"
    done
}

run() {
    trap down EXIT
    up "$1"
    "${@:2}"
}

"$action" "${@:3}"
