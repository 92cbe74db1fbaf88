"""From a study's runs table and what lies beside it to all of its tables, as files."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from analysis.decisions.listed import make_prices
from analysis.decisions.request import request_of
from analysis.estimates.core_hours import make_core_hours
from analysis.estimates.extrap import write_extrap
from analysis.estimates.improvement_mean import make_improvement_mean
from analysis.estimates.scaling import write_tables
from analysis.estimates.validation import make_validation
from analysis.importers import read_published
from analysis.networks.congestion.tables import make_congestion_tables
from analysis.networks.curves import network_table, without_benchmarks
from analysis.networks.data_servers import make_data_servers
from analysis.networks.imports import read_imported
from analysis.networks.links import make_links
from analysis.networks.node_loss import make_node_loss
from analysis.networks.printed import write_texts
from analysis.networks.replays import make_simulated_tables
from analysis.networks.tables import host_buses, link_rates, make_network_tables
from analysis.networks.traffic import make_traffic_tables
from analysis.networks.transports import make_transport_table
from analysis.pipeline import make_all_tables
from analysis.runs.facts import Facts
from analysis.tables.details import read_details
from workflows.study.congestion import requested_flows, requested_topologies


def write_all_tables(runs: pd.DataFrame, facts: Facts, details: Path, imported: Path, folder: Path) -> None:
    """Make every table that a study comes to.

    Parameters
    ----------
    details, imported : Path
        The study's folders of side tables and of published figures.

    Raises
    ------
    TableError
        In one line, if a file is damaged or a price is missing.
    """
    request, published, side_tables = request_of(facts), read_published(imported), read_details(details)
    tables = make_all_tables(runs, request)
    write_tables(tables | make_validation(runs, tables["scaling"], facts), folder)
    write_extrap(runs, folder / "extrap")
    measured = network_table(runs, side_tables["benchmarks"])
    network = pd.concat([measured, read_imported(imported)], ignore_index=True)
    rates, buses = link_rates(facts, published), host_buses(facts, published)
    optional = {
        "network_links": make_links(published),
        "network_transports": make_transport_table(runs, side_tables["transports"], published, network),
        "prices": make_prices(published, request.market.offers if request.market else {}),
        **make_traffic_tables(runs, side_tables),
    }
    optional = {name: table for name, table in optional.items() if len(table)}
    optional |= make_network_tables(network, rates, buses)
    write_tables(optional, folder)
    improvement = without_benchmarks(tables | optional)["improvement"]
    write_tables(make_improvement_mean(improvement, request.weights, request.settings.level), folder)
    simulated = make_simulated_tables(runs, side_tables)
    if request.settings.scaling == "strong":
        simulated |= make_node_loss(tables["scaling"], simulated, side_tables["bandwidth"])
    write_tables(simulated, folder)
    write_tables(make_core_hours(runs, side_tables["jobs"]), folder)
    write_tables(make_data_servers(runs, side_tables["data_servers"]), folder)
    write_texts(measured, folder / "curves")
    if requested := facts.congestion:
        topologies = requested_topologies(requested, "congestion")
        flows = requested_flows(requested, topologies, "congestion")
        write_tables(make_congestion_tables(topologies, flows, requested["matrices"]), folder)
