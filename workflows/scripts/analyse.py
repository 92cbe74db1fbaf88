"""Make the tables of a study from its runs table."""

import json
import sys
from pathlib import Path

from analysis.all_tables import make_all_tables
from analysis.extrap import write_extrap
from analysis.network_curves import read_network
from analysis.network_tables import link_rates, make_network_tables
from analysis.network_text import write_texts
from analysis.records import TableError, read_runs
from analysis.request import request_of
from analysis.tables import write_tables

facts = json.loads(Path(snakemake.input.facts).read_text(encoding="utf-8"))
folder = Path(snakemake.output.tables)
try:
    runs = read_runs(snakemake.input.runs, may_be_empty=True)
    write_tables(make_all_tables(runs, request_of(facts)), folder)
    write_extrap(runs, folder / "extrap")
    network = read_network(runs, folder.parent)
    write_tables(make_network_tables(network, link_rates(facts)), folder)
    write_texts(network, folder / "curves")
except TableError as error:
    sys.exit(f"nodeworth: {error}")
