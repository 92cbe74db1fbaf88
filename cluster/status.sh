#!/bin/sh
# status.sh pbs|lsf|sge JOB: prints running, success or failed. A job that its scheduler does not know any more and that
# told no exit status was killed.
told=.snakemake/cluster_logs/$2.status
ended() {
    [ -s "$told" ] || return 1
    if [ "$(cat "$told")" = 0 ]; then echo success; else echo failed; fi
}
gone() {
    case $1 in
    pbs) qstat "$2" 2>&1 | grep -Eiq 'unknown job|has finished' ;;
    sge) qstat -j "$2" 2>&1 | grep -q 'do not exist' ;;
    lsf) bjobs -noheader -o stat "$2" 2>&1 | grep -Eq 'DONE|EXIT|not found' ;;
    esac
}
ended && exit
if ! gone "$1" "$2"; then
    echo running
    exit
fi
sleep 2 # a file may be seen later than the end of its job
ended || echo failed
