#!/bin/sh
# bsub with these options; prints the job's number alone.
bsub "$@" | sed -n 's/^Job <\([0-9]*\)> is submitted.*/\1/p'
