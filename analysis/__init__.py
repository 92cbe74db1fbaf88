"""From a runs table to estimates, tables and figures. Imports nothing of workflows."""

import gc
import os

gc.set_threshold(100_000)
"""Tables and figures stay to the end; to look for garbage in them ever again takes a tenth of the time."""
os.environ.setdefault("HYPOTHESIS_NO_PLUGINS", "1")
"""Pandera imports Hypothesis where it is installed, whose plugins import Trio and pytest: half a second."""
