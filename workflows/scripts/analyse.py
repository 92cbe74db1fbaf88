"""Make the tables of a study from its runs table."""

from pathlib import Path

import pandas as pd

from analysis.decisions.request import request_of
from analysis.estimates.extrap import write_extrap
from analysis.estimates.scaling import write_tables
from analysis.estimates.validation import make_validation
from analysis.importers import read_published
from analysis.networks.congestion.tables import make_congestion_tables
from analysis.networks.curves import network_table
from analysis.networks.data_servers import make_data_servers
from analysis.networks.imports import read_imported
from analysis.networks.links import make_links
from analysis.networks.printed import write_texts
from analysis.networks.replays import make_simulated_tables
from analysis.networks.tables import link_rates, make_network_tables
from analysis.networks.traffic import make_traffic_tables
from analysis.pipeline import make_all_tables
from analysis.runs.runs import TableError, read_complete
from analysis.tables.details import read_details
from workflows.errors import one_line_errors
from workflows.study.congestion import requested_flows, requested_topologies
from workflows.study.sites import read_facts

folder = Path(snakemake.output.tables)
with one_line_errors(TableError):
    facts = read_facts(Path(snakemake.input.facts))
    runs = read_complete(snakemake.input.runs)
    details = read_details(snakemake.input.details)
    tables = make_all_tables(runs, request_of(facts))
    write_tables(tables | make_validation(runs, tables["scaling"], facts), folder)
    write_extrap(runs, folder / "extrap")
    measured = network_table(runs, details["benchmarks"])
    network = pd.concat([measured, read_imported(snakemake.input.published)], ignore_index=True)
    published = read_published(snakemake.input.published)
    write_tables(make_network_tables(network, link_rates(facts, published)), folder)
    write_tables({"network_links": links} if len(links := make_links(published)) else {}, folder)
    write_texts(measured, folder / "curves")
    write_tables(
        {name: table for name, table in make_traffic_tables(runs, details).items() if len(table)}, folder
    )
    write_tables(make_simulated_tables(runs, details), folder)
    write_tables(make_data_servers(runs, details["data_servers"]), folder)
    if requested := facts.congestion:
        topologies = requested_topologies(requested, "congestion")
        flows = requested_flows(requested, topologies, "congestion")
        write_tables(make_congestion_tables(topologies, flows, requested["matrices"]), folder)
