"""Runs with side tables, as collecting them gives."""

from workflows.results.details import tables_of_runs


def named(runs):
    """Give each run its own record and start time."""
    runs = runs.assign(record=[f"records/{place}.json" for place in range(len(runs))], started="2026-01-01")
    return runs.astype({"record": "str", "started": "str"})


def details_of(runs, details):
    """Side tables of named runs, from the details that their programs printed."""
    return tables_of_runs(zip(runs.to_dict("records"), details, strict=True))


def network_of(runs, details):
    """Arguments of `analysis.topics.network.curves.network_table`."""
    runs = named(runs)
    return runs, details_of(runs, details)["benchmarks"]


def traffic_of(runs, details):
    """What `analysis.topics.traffic.tables.make_traffic_tables` takes."""
    runs = named(runs)
    return runs, details_of(runs, details)
