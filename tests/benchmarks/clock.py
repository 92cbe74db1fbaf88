"""Measures what this project costs beside its peers, and writes docs/clock.md. For an idle machine; takes ten minutes.

    ./run-tests clock [--tests] [--reframe] [--dry] [NAME ...]

The exit status is 1 where a figure is over its limit, or grew by more than a quarter against the committed table:
its ratio to the peer, or, on the same machine, the figure itself where there is no peer.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from tests.benchmarks import analysis_speed, cluster_scale, finished, overhead, reframe, suite_times
from tests.benchmarks.figures import GROWTH, ROOT, Figure
from workflows.launch.provenance import machine

TABLE = ROOT / "docs/clock.md"
BENCHMARKS = {
    "tests": suite_times.measure,  # first: without reports of them it ends at once
    "attested": overhead.measure,
    "finished": finished.measure,
    "finished_many": finished.measure_many,
    "tables": analysis_speed.measure,
    "many": cluster_scale.measure,
}
TEXT = """# Clock

What this costs beside its peers, measured in one run: CPU time of all processes, each the median of rounds in turn.
`./run-tests clock` writes this page, and fails where a figure is over its limit or grew by more than {growth:.0%} since
the page was committed. A limit is of the figure, or of its ratio to the peer (×).

{where}

{table}

{over}

Limits in seconds and minutes are of a machine on which bare Snakemake took 0.5 s for 32 files and 0.9 s for 960, and
pandas 125 s. On another machine read the ratios.

ReFrame 4.10 took 42 to 53 ms of CPU a run, JUBE 2.7 22 to 24 ms, Ramble 0.5 36 to 38 ms (100 runs of nothing, November
2026, another machine of this kind); `--reframe` measures ReFrame anew.
"""
HEAD = ("what", "figure", "limit", "peer", "its figure", "ratio")
MEASURED = "Measured "


def read_table(text: str) -> tuple[str, dict[str, Sequence[str]]]:
    """Give the machine of a committed page, and its rows by what was measured."""
    where = next((line for line in text.splitlines() if line.startswith(MEASURED)), "")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return where.partition(" on ")[2], {row[0]: row for row in rows[2:]}


def grew(figure: Figure, old: Sequence[str], same_machine: bool) -> str | None:
    """Tell by how much a figure is worse than a row of the committed table, if it is by more than allowed."""
    before, now = (old[5].strip("× –"), figure.ratio) if figure.ratio else (old[1].split()[0], figure.value)
    if not before or not (figure.ratio or same_machine) or now <= GROWTH * float(before):
        return None
    return f"{figure.what}: {number(now)}, {now / float(before):.2f} × that of the committed table ({before})"


def over(figure: Figure) -> str | None:
    """Tell that a figure is over its limit."""
    if figure.limit is not None and figure.value > figure.limit:
        return f"{figure.what}: {number(figure.value)} {figure.unit}, over {figure.limit:g}"
    if figure.ratio_limit is not None and figure.ratio is not None and figure.ratio > figure.ratio_limit:
        return f"{figure.what}: {figure.ratio:.2f} × that of {figure.peer}, over {figure.ratio_limit:g}"
    return None


def number(value: float) -> str:
    """Write a number with three digits."""
    return f"{float(f'{value:.3g}'):g}"


def row(figure: Figure) -> str:
    """Write a figure as a row of the table."""
    limits = [f"{figure.limit:g} {figure.unit}"] if figure.limit is not None else []
    limits += [f"{figure.ratio_limit:g} ×"] if figure.ratio_limit is not None else []
    peer = f"{number(figure.peer_value)} {figure.unit}" if figure.peer_value is not None else "–"
    ratio = f"{figure.ratio:.2f} ×" if figure.ratio is not None else "–"
    cells = (
        figure.what,
        f"{number(figure.value)} {figure.unit}",
        ", ".join(limits) or "–",
        figure.peer or "–",
        peer,
        ratio,
    )
    return f"| {' | '.join(cells)} |"


def page(figures: Sequence[Figure], where: str) -> str:
    """Write the whole page."""
    table = [f"| {' | '.join(HEAD)} |", "|" + " --- |" * len(HEAD), *map(row, figures)]
    beyond = "; ".join(filter(None, map(over, figures)))
    said = f"Over their limits: {beyond}." if beyond else "Nothing is over its limit."
    return TEXT.format(growth=GROWTH - 1, where=where, table="\n".join(table), over=said)


def _git(*words: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True).stdout


def measured(names: Sequence[str], with_reframe: bool) -> list[Figure]:
    """Measure, and print each figure as soon as it is there."""
    measures = [BENCHMARKS[name] for name in names or BENCHMARKS] + [reframe.measure] * with_reframe
    figures = []
    for measure in measures:
        found = measure()
        print(*map(row, found), sep="\n", flush=True)
        figures += found
    return figures


def main() -> int:
    """Measure, compare with the limits and the committed table, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], prog="./run-tests clock")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; without one, all"
    )
    parser.add_argument("--tests", action="store_true", help="run the tests anew, quick ones and all")
    parser.add_argument(
        "--reframe", action="store_true", help="measure ReFrame too, in an environment of its own"
    )
    parser.add_argument("--dry", action="store_true", help="write no page")
    given = parser.parse_args()
    if unknown := set(given.names) - set(BENCHMARKS):
        parser.error(f"{', '.join(sorted(unknown))}: allowed are {', '.join(BENCHMARKS)}")
    if given.tests:
        suite_times.anew()
    try:
        figures = measured(given.names, given.reframe)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    on = machine()
    here = f"{on['cpu']}, {on['cores']} cores, {on['memory_GB']} GB, Linux {on['kernel']}."
    commit = _git("describe", "--always", "--dirty").strip()
    was_there, old = read_table(_git("show", f"HEAD:{TABLE.relative_to(ROOT)}"))
    told = [over(figure) for figure in figures]
    told += [grew(one, old[one.what], here == was_there) for one in figures if one.what in old]
    if not given.dry and not given.names:
        TABLE.write_text(page(figures, f"{MEASURED}{datetime.now(UTC):%Y-%m-%d}, commit {commit}, on {here}"))
    for line in filter(None, told):
        print(line, file=sys.stderr)
    return 1 if any(told) else 0


if __name__ == "__main__":
    sys.exit(main())
