# slurm.sh SLURM SITE SCRATCH EXAMPLE: runs a Slurm of one node in its own namespaces, with the prolog and the epilog as installed.
# SLURM has the files of Debian's packages, SITE what an administrator installs, EXAMPLE is a recording that lost 3.81 %.
set -eu
slurm=$1 site=$2 scratch=$3 example=$4
mount -t tmpfs tmpfs "$scratch"
mkdir -p "$scratch/etc" "$scratch/etc-work" "$scratch/var" "$scratch/var-work" "$scratch/state" "$scratch/munge"
mount -t overlay overlay -o "lowerdir=$site/usr:$slurm/usr:/usr" /usr
mount -t overlay overlay -o "lowerdir=$site/etc:/etc,upperdir=$scratch/etc,workdir=$scratch/etc-work" /etc
mount -t overlay overlay -o "lowerdir=/var,upperdir=$scratch/var,workdir=$scratch/var-work" /var
node=$(hostname -s)
mkdir -p /etc/slurm
cat >/etc/slurm/slurm.conf <<CONF
ClusterName=test
SlurmctldHost=$node(127.0.0.1)
SlurmUser=root
SlurmctldPort=26817
SlurmdPort=26818
AuthInfo=socket=$scratch/munge/socket
StateSaveLocation=$scratch/state
SlurmdSpoolDir=$scratch/spool
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmdPidFile=$scratch/slurmd.pid
SlurmctldLogFile=$scratch/slurmctld.log
SlurmdLogFile=$scratch/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/linear
PrologFlags=Alloc
Prolog=/etc/slurm/anechoic-prolog
Epilog=/etc/slurm/anechoic-epilog
NodeName=$node NodeAddr=127.0.0.1 CPUs=1
PartitionName=all Nodes=$node Default=YES
CONF
export SLURM_CONF=/etc/slurm/slurm.conf LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu/slurm-wlm
chmod 700 "$scratch/munge"
(umask 077; head -c 1024 /dev/urandom >"$scratch/munge/key")
for what in log pid seed; do set -- "$@" "--$what-file=$scratch/munge/$what"; done
shift 4
munged --force --key-file="$scratch/munge/key" --socket="$scratch/munge/socket" "$@" 2>&1
slurmctld-wlm
slurmd-wlm -N "$node"

# until_true WHAT COMMAND: waits until the command succeeds, for 30 s.
until_true() {
    what=$1
    shift
    for _ in $(seq 300); do
        if "$@" >/dev/null 2>&1; then return 0; fi
        sleep 0.1
    done
    echo "never: $what"
    tail -n 30 "$scratch"/*.log
    exit 1
}
state_is() { [ "$(sinfo --noheader --format=%T)" = "$1" ]; }
measured() { ls -d /var/lib/anechoic/health/2*Z; }
held() { squeue --noheader --format=%r --jobs="$1" | grep -q held; }

until_true idle state_is idle
echo "without a recording: $(srun echo ran)"
until_true measured measured
echo "measured in the epilog: $(measured | wc -l)"
until_true idle state_is idle

rm -r /var/lib/anechoic/health/2*Z
cp -r "$example" /var/lib/anechoic/health/
echo 'max-noise = "1%"' >/etc/anechoic/gate.toml
printf '#!/bin/sh\nsleep 1\n' >"$scratch/job"
job=$(sbatch --parsable --output=/dev/null "$scratch/job")
until_true "requeued and held" held "$job"
until_true drained state_is drained
echo "over a limit: $(squeue --noheader --format=%r --jobs="$job"), $(sinfo --noheader --list-reasons --format=%E)"
grep -o "output:ANECHOIC CRITICAL - max-noise 1%: CPU 1: 3.81 %" "$scratch/slurmd.log" | head -n 1
scancel "$job"
scontrol update "nodename=$node" state=resume
until_true idle state_is idle

flock /var/lib/anechoic/health/.lock rm -rf /var/lib/anechoic/health/2*Z
echo 'max-age = "1h"' >>/etc/anechoic/gate.toml
echo "too old: $(srun echo ran)"
until_true idle state_is idle
echo 'max-noise = "100%"' >/etc/anechoic/gate.toml
echo "during a job: $(srun env -u SLURM_JOB_ID /usr/libexec/anechoic-measure)"
