"""Fail in the requested way on more than one process."""

import os
import signal
import sys
import time

fault = sys.argv[1] if int(sys.argv[2]) > 1 else "none"
first = os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("SLURM_PROCID", "0")) == "0"
if fault == "hangs":
    time.sleep(600)
if fault == "slow":
    time.sleep(12)
if fault == "hungry" and first:
    held = bytearray(b"x") * 2_000_000_000
    time.sleep(30)
if fault == "crashes" and first:
    sys.exit("out of luck")
if fault == "killed" and first:
    os.kill(os.getpid(), signal.SIGKILL)
if first:
    print("took 0.02 s")
    print(f"sum = {7 if fault == 'wrong' else 42}")
    if fault != "cut":
        print("done")
