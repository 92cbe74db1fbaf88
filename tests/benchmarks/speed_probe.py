"""How often adjusted intervals are right, and how much narrower they are: the table of docs/statistics.md's page.

Two interconnects that are alike, under noise of 15 %, of whose variance the fixed work sees a share.

    python tests/benchmarks/speed_probe.py
"""

import sys

import numpy as np

from analysis.estimates.machine_speed import EXPLAINS, Ratios, adjusted_times, speed_effect
from analysis.estimates.shift import paired_shift

STUDIES = 2_000


def held(logs, level=0.05):
    """Whether the interval holds 0, and its width."""
    found = paired_shift(logs[None], level)
    return found.low[0] <= 0 <= found.high[0], found.high[0] - found.low[0]


def cell(blocks, seen):
    """Shares in percent: effect found, plain and adjusted intervals that hold 0; median ratio of widths."""
    rng = np.random.default_rng([blocks, int(100 * seen)])
    plain, adjusted, ratios_of_widths = [], [], []
    for _ in range(STUDIES):
        noise, fixed, rest = rng.normal(0, 0.15, (3, blocks))
        times = np.sqrt(seen) * noise + np.sqrt(1 - seen) * rest
        ratios = Ratios(np.arange(blocks), times, noise if seen else fixed)
        effect = speed_effect([ratios])
        right, width = held(times)
        plain.append(right)
        if effect.p_value <= EXPLAINS:
            right, narrow = held(adjusted_times(ratios, effect))
            adjusted.append(right)
            ratios_of_widths.append(narrow / width)
    shares = (len(adjusted) / STUDIES, np.mean(plain), np.mean(adjusted), np.median(ratios_of_widths))
    return [f"{100 * share:.0f}" for share in shares]


def main():
    """Print a row for each number of blocks and share of the noise."""
    print(
        "| blocks | noise that is seen | effect found | plain holds | adjusted holds | width of the plain |"
    )
    print("| --: | --: | --: | --: | --: | --: |")
    for blocks in (6, 10, 30):
        for seen in (0, 0.2, 0.5, 0.8, 0.95):
            print("|", " | ".join([str(blocks), f"{100 * seen:.0f}", *cell(blocks, seen)]), "|")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
