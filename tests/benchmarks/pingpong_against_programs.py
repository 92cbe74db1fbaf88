"""Compare our ping-pong with NetPIPE and the OSU micro-benchmarks, if they are installed.

    .venv/bin/python tests/benchmarks/pingpong_against_programs.py [rounds] [interconnect ...]

These are programs of their own, so runs alternate, size by size, and those of a round are compared. Debian
has NetPIPE (netpipe-openmpi) and no OSU micro-benchmarks; `osu_latency` is found if it is on the PATH.
The limits are those of pingpong_against_c.py, on the median over the rounds: a run finds the processors placed
as it happens, which a comparison within one run does not see.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from two_ranks import INTERCONNECTS, ROOT, compare, install, two_ranks

sys.path.insert(0, str(ROOT))
from analysis.importers.netpipe import parse as parse_netpipe
from analysis.importers.osu import parse as parse_osu
from workflows.launch.execution import Execution

SIZES = (8, 1024, 1_048_576, 4_194_304)
ROUNDS = 7
SECONDS = 0.5

Run = Callable[[Sequence[str], Path], Execution]


def ranks(size: int) -> None:
    """What both ranks run of ours; the first one prints the median seconds of a message."""
    from mpi4py import MPI

    from workflows.benchmarks.point_to_point import Side, ping_pong
    from workflows.benchmarks.sweep import measure

    comm = MPI.COMM_WORLD
    task = next(tasks := ping_pong(Side(comm, size), 0, 1, size, SECONDS))
    row, wrong = measure(comm, task)
    tasks.close()
    assert wrong == 0
    if comm.rank == 0:
        print(json.dumps(row["seconds_p50"]))


def ours(run: Run, size: int, folder: Path) -> float:
    """Seconds of a message by the project's benchmark."""
    command = [sys.executable, "-m", "mpi4py", str(Path(__file__).resolve()), "--rank", str(size)]
    return json.loads(run(command, folder).lines[-1].text)


def netpipe(run: Run, size: int, folder: Path) -> float:
    """Seconds of a message by NetPIPE."""
    output = folder / "np.out"
    run(["NPopenmpi", "-l", str(size), "-u", str(size), "-p", "0", "-o", str(output)], folder)
    (row,), unread = parse_netpipe(output.read_text(), output.name)
    assert not unread and row["bytes"] == size
    return row["latency_us"] / 1e6


def osu(run: Run, size: int, folder: Path) -> float:
    """Seconds of a message by osu_latency."""
    done = run(["osu_latency", "-m", f"{size}:{size}"], folder)
    rows, _ = parse_osu("".join(f"{line.text}\n" for line in done.lines), "osu_latency")
    return next(row["latency_us"] for row in rows if row["bytes"] == size) / 1e6


PROGRAMS = {"NPopenmpi": ("NetPIPE", netpipe), "osu_latency": ("OSU", osu)}


def main() -> None:
    """Compare with what is installed; exit status 1 beyond a limit, or where nothing is there to compare with."""
    if sys.argv[1:2] == ["--rank"]:
        return ranks(int(sys.argv[2]))
    install()
    words = sys.argv[1:]
    rounds = int(words.pop(0)) if words and words[0].isdigit() else ROUNDS
    installed = {program: command for program, command in PROGRAMS.items() if shutil.which(program)}
    for program in PROGRAMS.keys() - installed.keys():
        print(f"{program}: not installed, left out", flush=True)
    within = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for interconnect in words or INTERCONNECTS:
            with two_ranks(interconnect) as run:
                for size in SIZES:
                    for title, other in installed.values():
                        pairs = [(other(run, size, folder), ours(run, size, folder)) for _ in range(rounds)]
                        within.append(compare(interconnect, size, title, pairs))
    return sys.exit(0 if within and all(within) else 1)


if __name__ == "__main__":
    main()
