"""Synthetic studies of two interconnects: a serial run and sweeps over 2, 4, 8 and 16 processes."""

import numpy as np
import pandas as pd

from analysis.runs.runs import complete_runs

COUNTS = np.array([1, 2, 4, 8, 16])
MEDIANS = {"slow": np.array([100, 54, 31, 24, 25.0]), "swift": np.array([100, 52, 28, 17, 13.0])}


def runs_of(seconds: np.ndarray) -> pd.DataFrame:
    """One case a study; the serial run has no interconnect.

    Parameters
    ----------
    seconds : array of shape (studies, counts, interconnects, blocks)
    """
    study, count, interconnect, block = (index.ravel() for index in np.indices(seconds.shape))
    frame = pd.DataFrame(
        {
            "case": pd.Series(study).map("study{}".format),
            "interconnect": np.where(count == 0, None, np.array(list(MEDIANS))[interconnect]),
            "kind": "measured",
            "processes": COUNTS[count],
            "block": block,
            "seconds": seconds.ravel(),
        }
    )
    return complete_runs(frame[(count > 0) | (interconnect == 0)])
