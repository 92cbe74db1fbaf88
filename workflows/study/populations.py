"""Split imported runs by settings that differ: each value is an interconnect of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from analysis.runs.runs import RUNS
from workflows.errors import InputError
from workflows.inputs import choose

CURVE = ["site", "case", "kind", "interconnect"]
"""Columns whose runs share a curve, and must not differ in a setting."""


class Population(NamedTuple):
    """Runs of an interconnect with the same settings: ``azure``, ``UCX_TLS=all``."""

    interconnect: str
    settings: str

    @property
    def name(self) -> str:
        """Name in the runs table, of the characters that a name may have: ``azure-UCX_TLS-all``."""
        return re.sub(r"[^A-Za-z0-9_.+-]+", "-", f"{self.interconnect}-{self.settings}").rstrip("-")


def split_by_settings(
    runs: pd.DataFrame, settings: Sequence[str], where: str
) -> tuple[pd.DataFrame, dict[str, Population]]:
    """Give each value of a setting a name of its own in the column ``interconnect``.

    The name of an interconnect only changes where the runs of a case, site and kind differ in the setting. An
    empty cell is a value too. A serial run has no interconnect, and its settings are ignored.

    Parameters
    ----------
    settings : sequence of str
        Columns of `runs` that are no columns of Nodeworth.
    where : str
        Study file and key of the settings, for messages.

    Returns
    -------
    runs : DataFrame
    populations : dict of str to Population
        Populations by their new names.

    Raises
    ------
    InputError
        A setting is no such column, or two populations have the same name.
    """
    others = [str(name) for name in runs if name not in RUNS.columns]
    for index, name in enumerate(settings):
        choose(name, others, "further column of the imported runs", f"{where}[{index}]")
    if not settings:
        return runs, {}
    texts = pd.DataFrame({name: _stated(runs[name], name) for name in settings})
    curve = runs.reindex(columns=CURVE).groupby(CURVE, dropna=False).ngroup()
    combination = texts.groupby([curve, *(texts[name] for name in settings)]).ngroup()
    differs = texts.groupby(curve).transform("nunique") > 1
    is_split = differs.any(axis=1) & runs["interconnect"].notna()
    populations: dict[str, Population] = {}
    new_names: dict[int, str] = {}
    for row in runs.index[is_split & ~combination.duplicated()]:
        stated = "; ".join(texts.loc[row, differs.loc[row]])
        population = Population(str(runs.at[row, "interconnect"]), stated)
        other = populations.setdefault(population.name, population)
        if other != population:
            raise InputError(f"{where}: {stated!r} and {other.settings!r} get the same name, {other.name}")
        new_names[combination[row]] = population.name
    names = combination.map(new_names).astype("str").fillna(runs["interconnect"])
    return runs.assign(interconnect=names), populations


def _stated(column: pd.Series, name: str) -> pd.Series:
    """Return ``name=value`` for each value of a setting; whole numbers have no decimals."""
    texts = {
        value: f"{name}={value:.15g}" if isinstance(value, float) else f"{name}={value}".strip()
        for value in column.dropna().unique()
    }
    return column.map(texts).astype("str").fillna(f"{name} not stated")
