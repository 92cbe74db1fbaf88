"""From a runs table to estimates, tables and figures. Imports nothing of workflows."""

import os

os.environ.setdefault("HYPOTHESIS_NO_PLUGINS", "1")
"""Pandera imports Hypothesis where it is installed, whose plugins import Trio and pytest: half a second."""
