#!/usr/bin/env bash
# A real Slurm of N nodes on this machine, as root, for as long as a command runs:
#     slurm/test-cluster.sh DIR 2 bash            # then sinfo, sbatch, squeue ...
# Every node is a slurmd that claims 8 cores and 2 GPUs (which are none). All state is
# in DIR; jobs and daemons end with the command. Debian's packages are enough:
#     apt-get install --no-install-recommends slurmctld slurmd slurm-client \
#         slurm-wlm-basic-plugins munge libpmi2-0
set -euo pipefail
usage="usage: slurm/test-cluster.sh DIR NODES COMMAND ..."
dir=${1:?$usage} nodes=${2:?$usage}
dir=$(mkdir -p "$dir" && realpath "$dir")
shift 2
host=$(hostname -s)
export SLURM_CONF=$dir/slurm.conf
daemons=()

# Unused ports, so that several clusters may run.
free_ports() {
    python3 - "$1" <<'END'
import socket, sys
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
print(*(s.getsockname()[1] for s in sockets))
END
}

write_settings() {
    local ports i
    read -ra ports < <(free_ports $((nodes + 1)))
    mkdir -p "$dir"/{state,log,munge}
    chmod 755 "$dir/munge"
    (umask 077 && head -c 1024 /dev/urandom >"$dir/munge/key")
    for gpu in 0 1; do
        [[ -e $dir/gpu$gpu ]] || mknod "$dir/gpu$gpu" c 1 3 || touch "$dir/no-gpus"
    done
    # FirstJobId: MPICH names shared memory after the job; what a killed one has left
    # must not be met again. cred_expire: how long a requeued job waits. config_overrides:
    # cores are claimed. A TmpFS for each node, since all are on one machine.
    cat >"$dir/slurm.conf" <<END
ClusterName=test
FirstJobId=$(($(date +%s) % 60000000 + 1))
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${ports[0]}
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket,cred_expire=5
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool-%n
TmpFS=$dir/tmp-%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd-%n.pid
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdLogFile=$dir/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SwitchType=switch/none
MpiDefault=pmi2
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000,bf_interval=1
SlurmdTimeout=30
KillWait=5
MailProg=/bin/true
END
    echo "CgroupAutomount=no" >"$dir/cgroup.conf"
    local gres=
    if [[ ! -e $dir/no-gpus ]]; then
        echo "GresTypes=gpu" >>"$dir/slurm.conf"
        echo "Name=gpu File=$dir/gpu[0-1]" >"$dir/gres.conf"
        gres="Gres=gpu:2"
    fi
    for ((i = 1; i <= nodes; i++)); do
        mkdir -p "$dir/spool-node$i" "$dir/tmp-node$i"
        echo "NodeName=node$i NodeHostname=$host NodeAddr=127.0.0.1" \
            "Port=${ports[i]} CPUs=8 $gres State=UNKNOWN" >>"$dir/slurm.conf"
    done
    echo "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP" \
        "OverSubscribe=YES:8" >>"$dir/slurm.conf"
}

# Start a daemon in the foreground of a child that ends with this script.
daemon() {
    setpriv --pdeathsig KILL "$@" >>"$dir/log/start.log" 2>&1 </dev/null &
    daemons+=($!)
}

start() {
    local i
    daemon munged --foreground --force --key-file="$dir/munge/key" \
        --socket="$dir/munge/socket" --pid-file="$dir/munge/pid" \
        --log-file="$dir/log/munged.log" --seed-file="$dir/munge/seed"
    for ((i = 0; i < 100; i++)); do
        [[ -S $dir/munge/socket ]] && break
        sleep 0.05
    done
    daemon slurmctld -D
    for ((i = 1; i <= nodes; i++)); do
        daemon slurmd -D -N "node$i"
    done
    for ((i = 0; i < 100; i++)); do
        [[ $(sinfo -h -t idle -o %D 2>/dev/null) == "$nodes" ]] && return
        sleep 0.1
    done
    echo "test-cluster.sh: error: the nodes do not come up; see $dir/log" >&2
    return 1
}

# shellcheck disable=SC2317 # called by the trap
stop() {
    scancel --signal=KILL --full --user=root 2>/dev/null || true
    for ((i = 0; i < 50; i++)); do
        [[ -z $(squeue -h 2>/dev/null) ]] && break
        sleep 0.1
    done
    kill "${daemons[@]}" 2>/dev/null || true
    wait
}

write_settings
trap stop EXIT
start
"$@"
