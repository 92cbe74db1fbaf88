"""How often adjusted intervals are right, and how much narrower they are: the table of docs/machine_speed.md.

Two interconnects that are alike, under noise of 15 %, of whose variance the fixed work sees a share.

    python tests/benchmarks/speed_probe.py
"""

import sys

import numpy as np

from analysis.estimates.machine_speed import EXPLAINS, Ratios, adjusted_times, speed_effect
from analysis.estimates.shift import paired_shift

STUDIES = 2_000


def interval(logs):
    """Estimate and ends of an interval of log ratios."""
    found = paired_shift(logs[None], 0.05)
    return found.estimate[0], found.low[0], found.high[0]


def cell(blocks, seen):
    """Shares in percent: effect found; of these given; plain and given intervals that hold 0; ratio of widths."""
    rng = np.random.default_rng([blocks, int(100 * seen)])
    found, plain, adjusted, widths = 0, [], [], []
    for _ in range(STUDIES):
        noise, fixed, rest = rng.normal(0, 0.15, (3, blocks))
        times = np.sqrt(seen) * noise + np.sqrt(1 - seen) * rest
        ratios = Ratios(np.arange(blocks), times, noise if seen else fixed)
        effect = speed_effect([ratios])
        _, low, high = interval(times)
        plain.append(low <= 0 <= high)
        if effect.p_value <= EXPLAINS:
            found += 1
            estimate, lower, higher = interval(adjusted_times(ratios, effect))
            if low <= estimate <= high:
                adjusted.append(lower <= 0 <= higher)
                widths.append((higher - lower) / (high - low))
    shares = (found / STUDIES, len(adjusted) / found, np.mean(plain), np.mean(adjusted), np.median(widths))
    return [f"{100 * share:.0f}" for share in shares]


def main():
    """Print a row for each number of blocks and share of the noise."""
    heads = ("blocks", "noise that is seen, %", "explains, %", "of these given, %")
    print("|", " | ".join([*heads, "plain holds, %", "adjusted holds, %", "width, % of the plain"]), "|")
    print("|", " | ".join(["--:"] * 7), "|")
    for blocks in (6, 10, 30):
        for seen in (0, 0.2, 0.5, 0.8, 0.95):
            print("|", " | ".join([str(blocks), f"{100 * seen:.0f}", *cell(blocks, seen)]), "|")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
