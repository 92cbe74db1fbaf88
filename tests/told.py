"""Runs with the side tables that collecting them gives."""

from workflows.results.details import tables_of_runs


def named(runs):
    """Runs with records of their own."""
    runs = runs.assign(record=[f"records/{place}.json" for place in range(len(runs))], started="2026-01-01")
    return runs.astype({"record": "str", "started": "str"})


def details_of(runs, details):
    """Side tables of named runs, by what their programs told."""
    return tables_of_runs(zip(runs.to_dict("records"), details, strict=True))


def network_of(runs, details):
    """What `analysis.topics.network.curves.network_table` takes."""
    runs = named(runs)
    return runs, details_of(runs, details)["benchmarks"]


def traffic_of(runs, details):
    """What `analysis.topics.traffic.tables.make_traffic_tables` takes."""
    runs = named(runs)
    return runs, details_of(runs, details)
