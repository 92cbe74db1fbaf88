#!/bin/sh
# state.sh pbs|sge|lsf|flux JOB: prints the state of a job in Slurm's words, and why where that is known. RUNNING has
# not ended, COMPLETING is being deleted, unknown has ended somehow. Fails where the scheduler does not answer.
job=$2

# Ask a scheduler; what it says stands in $said.
ask() {
    said=$("$@" 2>&1)
}
fail() {
    echo "$said" >&2
    exit 1
}

# A job in error never starts. One whose host has not been heard of for max_unheard stays as it is for ever.
sge() {
    ask qstat -u "$(id -un)" || fail
    set -- $(echo "$said" | awk -v job="$job" '$1 == job {print $5, $8; exit}')
    case $1 in
    '')
        sge_ended
        return
        ;;
    *E*)
        ask qstat -j "$job" || fail
        echo FAILED "$(echo "$said" | sed -n 's/^error reason[ 0-9]*: *//p' | head -n 1)"
        return
        ;;
    esac
    case $2 in
    *@*)
        # qstat cuts names of queues at 30 characters.
        ask qstat -f -qs u -q "$2$([ ${#2} -lt 30 ] || echo '*')" || fail
        case $said in
        *@*)
            echo NODE_FAIL "${2#*@} is not heard of any more"
            return
            ;;
        esac
        ;;
    esac
    case $1 in *d*) echo COMPLETING ;; *) echo RUNNING ;; esac
}

# The accounting is some seconds late. It shows a job that was deleted by force, its host being gone, as a success
# that took no time. A job that is out of time is shown as killed where another of its nodes ended its tasks first, up
# to two seconds early, as each counts by itself.
sge_ended() {
    left=16
    until ask qacct -j "$job"; do
        [ $left -gt 0 ] && echo "$said" | grep -q 'not found' || { echo unknown; return; }
        left=$((left - 1))
        sleep 1
    done
    echo "$said" | awk '
        $1 == "start_time" {start = $0; sub(/^[a-z_ ]*/, "", start)}
        $1 == "end_time" {end = $0; sub(/^[a-z_ ]*/, "", end)}
        $1 == "failed" {failed = $2; why = $0; sub(/^[^:]*:? */, "", why)}
        $1 == "exit_status" {status = $2}
        $1 == "ru_wallclock" {took = $2 + 0}
        $1 == "category" && match($0, /h_rt=[0-9]+/) {allowed = substr($0, RSTART + 5, RLENGTH - 5) + 0}
        END {
            if (failed == 37 || failed == 100 && allowed && took >= allowed - 2) print "TIMEOUT"
            else if (failed == 100) print "CANCELLED deleted or killed"
            else if (failed) print "FAILED", why
            else if (status) print "FAILED exit status", status
            else if (took == 0 && start != end) print "NODE_FAIL"
            else print "COMPLETED"
        }'
}

# Of these three, no more than that a job is over.
pbs() {
    over 'unknown job|has finished' qstat "$job"
}
lsf() {
    over 'DONE|EXIT|not found' bjobs -noheader -o stat "$job"
}
flux() {
    over 'INACTIVE|unknown' command flux jobs -no '{state}' "$job"
}
over() {
    pattern=$1
    shift
    ask "$@"
    status=$?
    if echo "$said" | grep -Eiq "$pattern"; then
        echo unknown
    elif [ $status = 0 ]; then
        echo RUNNING
    else
        fail
    fi
}

case $1 in
pbs | sge | lsf | flux) "$1" ;;
*)
    echo "state.sh: $1: no such scheduler" >&2
    exit 2
    ;;
esac
