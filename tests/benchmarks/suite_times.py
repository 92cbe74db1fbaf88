"""Print the outcome of the tests in one line, from the reports of ./run-tests.

    .venv/bin/python -m tests.benchmarks.suite_times FOLDER

The exit status is 1 if a test failed or no test ran.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree


def added_up(folder: Path) -> tuple[Counter[str], float]:
    """Give how many tests passed, failed and so on, and the seconds of all runs together.

    Raises
    ------
    RuntimeError
        If there is no report.
    """
    suites = [
        suite for file in sorted(folder.glob("*.xml")) for suite in ElementTree.parse(file).iter("testsuite")
    ]
    if not suites:
        raise RuntimeError(f"{folder}: no report of a run of the tests")
    counts: Counter[str] = Counter()
    for suite in suites:
        ended = {name: int(suite.get(name, 0)) for name in ("failures", "errors", "skipped")}
        counts.update(ended | {"passed": int(suite.get("tests", 0)) - sum(ended.values())})
    return counts, sum(float(suite.get("time", 0)) for suite in suites)


def main() -> int:
    """Print how all ended."""
    try:
        counts, seconds = added_up(Path(sys.argv[1]))
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    names = {"failures": "failed", "passed": "passed", "skipped": "skipped", "errors": "errors"}
    outcomes = [f"{counts[key]} {name}" for key, name in names.items() if counts[key]]
    print(f"all together: {', '.join(outcomes) or 'no tests ran'} in {seconds:.0f} s")
    return 0 if counts["passed"] and not counts["failures"] + counts["errors"] else 1


if __name__ == "__main__":
    sys.exit(main())
