"""Rows of runs tables with known medians."""

FACTORS = (0.9, 0.95, 1.0, 1.0, 1.05, 1.1)  # of the six blocks; the median is 1


def rows(case, interconnect, times, blocks=FACTORS, kind="measured", oversubscription=1, **more):
    """One row a block; `times` maps process counts to median seconds."""
    return [
        {
            "case": case,
            "interconnect": interconnect,
            "kind": kind,
            "processes": processes,
            "oversubscription": oversubscription,
            "block": block,
            "seconds": seconds * factor,
            **more,
        }
        for processes, seconds in times.items()
        for block, factor in enumerate(blocks)
    ]
