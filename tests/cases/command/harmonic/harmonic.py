"""Sum of 1/n^2, timed by the program itself."""

import argparse
import os
import time

parser = argparse.ArgumentParser()
parser.add_argument("--terms", type=int, required=True)
parser.add_argument("--ranks", type=int, required=True)
options = parser.parse_args()

began = time.perf_counter()
total = 0.0
for n in range(1, options.terms + 1):
    total += 1 / n**2
took = time.perf_counter() - began

if os.environ.get("OMPI_COMM_WORLD_RANK", "0") == "0":
    print(f"{options.ranks} ranks")
    print(f"sum = {total!r}")
    print(f"took {took:.6f} s")
    print("done")
