"""Cost of data servers: 1+1 and 2+2 processes and servers on two cores, polling, yielding and sleeping.

    .venv/bin/python tests/benchmarks/data_servers.py [rounds] [interconnect ...]

Every round has each combination once, in random order. Printed are the median, the lowest and the highest time
over the rounds, the median time of a get, and the share of a core that a server kept busy. Emulated nodes have
a core each, where 2+2 are a process and a server on each; 1+1 would be on one of them and use no link.
Run it on a machine that is otherwise idle.
"""

import random
import statistics
import sys
import tempfile
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from workflows.applications import application  # noqa: E402
from workflows.domain import Point  # noqa: E402
from workflows.launch.emulation import emulated_nodes  # noqa: E402
from workflows.measure.running import run  # noqa: E402
from workflows.study.cases import load_case  # noqa: E402
from workflows.study.interconnects import load_interconnect  # noqa: E402

mpi4py = application("mpi4py")

INTERCONNECTS = ("shared_memory", "tcp_loopback", "emulated_gigabit", "emulated_ten_gigabit")
WAYS = ("", "-polling", "-yielding", "-sleeping")
CORES = 2
ROUNDS = 5
LIMIT_SECONDS = 200.0


def combinations(names: list[str]) -> list[tuple[str, str, int]]:
    """Interconnect, way and number of processes of each run of a round."""
    emulated = {name for name in names if load_interconnect(name, ROOT / "config/interconnects").emulate}
    return [
        (name, way, processes)
        for name in names
        for way in WAYS
        for processes in (1, 2)
        if processes == 2 or (way and name not in emulated)
    ]


def main() -> None:
    """Measure, and print a table."""
    words = sys.argv[1:]
    rounds = int(words.pop(0)) if words and words[0].isdigit() else ROUNDS
    names = words or list(INTERCONNECTS)
    joins = {name: load_interconnect(name, ROOT / "config/interconnects") for name in names}
    cases = {way: load_case(f"data_servers{way}", ROOT / "cases") for way in WAYS}
    seconds_of_runs = defaultdict(list)
    with ExitStack() as stack:
        prepared = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "prepared"
        mpi4py.prepare(cases[""], 1, prepared, None)
        nodes = {
            name: stack.enter_context(emulated_nodes(interconnect.emulate)) if interconnect.emulate else ()
            for name, interconnect in joins.items()
        }
        for number in range(rounds):
            for name, way, processes in random.Random(number).sample(todo := combinations(names), len(todo)):
                servers, places = int(bool(way)), len(nodes[name]) or 1
                level = max(1, processes * (1 + servers) // CORES)
                point = Point(
                    "data_servers", name, processes, level, places, CORES, servers_per_process=servers
                )
                done = run(cases[way], point, prepared, joins[name], nodes[name], LIMIT_SECONDS)
                if done.problem or done.reading.answer != cases[way].answer.golden:
                    raise SystemExit(f"{name} {way} {processes}: {done.problem or done.reading.answer}")
                seconds_of_runs[name, processes, way].append(done.reading)
    print("interconnect           processes way         seconds (lowest, highest)   get, us   busy servers")
    for (name, processes, way), readings in sorted(seconds_of_runs.items()):
        seconds = sorted(reading.seconds for reading in readings)
        gets = [
            1e6 * row["operation_seconds_p50"]
            for reading in readings
            for row in reading.details["rows"]
            if row["operation"] == "get"
        ]
        busy = [reading.details["busy_share"]["servers"] for reading in readings]
        counts = f"{processes}+{processes if way else 0}"
        label = f"{name:22s} {counts:9s} {way[1:] or 'no servers':10s} {statistics.median(seconds):8.3f}"
        share = f"{statistics.median(busy):6.2f}" if way else ""
        print(f"{label} ({seconds[0]:.3f}, {seconds[-1]:.3f}) {statistics.median(gets):10.1f} {share:>9s}")


if __name__ == "__main__":
    main()
