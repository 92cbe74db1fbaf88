#!/bin/sh
# status.sh pbs|lsf|sge JOB: prints running, success or failed. A job that is over, or that can never end by itself, and
# that told no exit status has failed: why stands in its log, as far as its scheduler knows.
job=$2
told=.snakemake/cluster_logs/$job
ended() {
    [ -s "$told.status" ] || return 1
    if [ "$(cat "$told.status")" = 0 ]; then echo success; else echo failed; fi
}
ended && exit
state=$("${0%/*}/state.sh" "$1" "$job" 2>/dev/null)
case $state in
'' | RUNNING* | COMPLETING*)
    echo running
    exit
    ;;
esac
sleep 2 # a file may be seen later than the end of its job
ended && exit
mkdir -p "${told%/*}"
echo "nodeworth: job $job told no exit status: $state" >>"$told.log"
case $1$state in
sgeFAILED* | sgeNODE_FAIL*) # a job in error waits for ever; one of a lost host is ended when that is back
    qdel "$job" || true # one that has just ended by itself is not there to be deleted
    case $state in NODE_FAIL*) qdel -f "$job" ;; esac
    ;;
esac >/dev/null 2>&1
echo failed
