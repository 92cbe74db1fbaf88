"""Numerical methods on arrays. Nothing here uses tables or the settings of a study."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
