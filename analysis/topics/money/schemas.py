"""Schemas of the tables about money."""

from __future__ import annotations

import pandera.pandas as pa

from analysis.runs.columns import (
    COUNT,
    CURVE_COLUMNS,
    MARK,
    MONEY,
    NOTE,
    NUMBER,
    PAIR_COLUMNS,
    POSITIVE,
    SHARE,
    SIZE,
    TEXT,
    THREADS,
    described,
    table_schema,
    table_schemas,
    with_descriptions,
    with_interval,
)

_PERCENT = pa.Column(float, pa.Check.in_range(0, 100), nullable=True)
_LIFETIME = with_descriptions(
    {
        "lifetime_years": POSITIVE,
        **with_interval("lifetime_cost", MONEY),
        **{f"{part}_percent": _PERCENT for part in ("purchase", "energy", "maintenance", "licences")},
        **with_interval("kilowatts", MONEY),
        **with_interval("lifetime_kWh", MONEY),
        **with_interval("lifetime_CO2_kg", MONEY),
    },
    lifetime_years="Years of operation in the study.",
    lifetime_cost="Price, energy, maintenance and licences of all years, at one process per core. The ends "
    "combine the ranges of the inputs.",
    purchase_percent="Share of the price in that cost.",
    energy_percent="Share of energy.",
    maintenance_percent="Share of maintenance.",
    licences_percent="Share of licences.",
    kilowatts="Power while all nodes compute; with pue, power of the building.",
    lifetime_kWh="Energy over all years.",
    lifetime_CO2_kg="Carbon dioxide of that energy.",
)
"""Cost, power and energy of a cluster over its years; empty unless the study states a lifetime."""
_PRICE = {"currency": TEXT, **with_interval("cluster_price", MONEY)}

MONEY_TABLES = table_schemas(
    table_schema(
        "cost",
        "One row per interconnect and number of nodes, with the cost of the cluster.",
        interconnect=TEXT,
        nodes=described(COUNT, "Nodes of the cluster."),
        currency=TEXT,
        year=described(COUNT, "Year of the interconnect's price."),
        node_price=described(MONEY, "Price of a node without interconnect."),
        **with_interval(
            "interconnect_price_per_node",
            MONEY,
            "Price of the interconnect / nodes; the ends are the published range.",
        ),
        **with_interval("cluster_price", MONEY, "nodes × (node + interconnect)."),
        interconnect_percent=described(
            NUMBER, "Share of the interconnect in the price of a node with interconnect."
        ),
        basis=described(
            NOTE,
            "`published`, `interpolated`, `computed` (a switch tree), `none needed` (one node); empty"
            " without a price.",
        ),
        item=described(TEXT, "Item of the price book or part list."),
        source=described(NOTE, "Source of the price."),
        note=NOTE,
        node_year=described(COUNT, "Year of the node's price."),
        **_LIFETIME,
    ),
    table_schema(
        "value",
        "One row per measured point, with the cost of its speedup.",
        **CURVE_COLUMNS,
        **SIZE,
        serial=MARK,
        **with_interval("speedup", POSITIVE),
        **with_descriptions(_PRICE, cluster_price="Price of its nodes."),
        **with_interval("price_per_speedup", MONEY, "Price / speedup. The interval combines both ranges."),
        compared_kinds=TEXT,
        pareto=described(
            MARK, "Whether no other point is at least as cheap and as fast, and better in one of the two."
        ),
        pareto_share=SHARE,
        note=NOTE,
        **with_interval(
            "lifetime_cost",
            MONEY,
            "Price, energy, maintenance and licences of its nodes over all years, if they run "
            "only this job. The ends combine the ranges of the inputs.",
        ),
        **with_interval(
            "job_cost",
            MONEY,
            "Share of the job in that cost, idle hours included. The interval combines that of "
            "the time with all ranges.",
        ),
        **with_interval("job_kWh", MONEY, "Share of the job in the energy, with the same interval."),
        **with_interval(
            "job_CO2_kg", MONEY, "Share of the job in the carbon dioxide, with the same interval."
        ),
    ),
    table_schema(
        "break_even",
        "One row per row of `node_equivalent` whose interconnects both have a price.",
        case=TEXT,
        target_speedup=described(POSITIVE, "Speedup to be reached."),
        **PAIR_COLUMNS,
        oversubscription=COUNT,
        **THREADS,
        processes_per_node=POSITIVE,
        baseline_processes=described(POSITIVE, "Processes of the baseline at that speedup."),
        equivalent_processes=described(POSITIVE, "Processes of the interconnect at that speedup."),
        baseline_nodes=described(COUNT, "Nodes of the baseline, rounded up."),
        equivalent_nodes=described(COUNT, "Nodes of the interconnect, rounded up."),
        currency=TEXT,
        baseline_interconnect_price_per_node=described(
            MONEY, "Price of the baseline interconnect at its size."
        ),
        interconnect_price_per_node=described(MONEY, "Price of the other interconnect at its size."),
        **with_interval(
            "break_even_node_price", MONEY, "Price of a node at which both clusters cost the same."
        ),
        pays=described(NOTE, "`above` or `below` that price, `always`, or `never`."),
        node_price=described(MONEY, "Price of a node in the study."),
        **with_interval(
            "saving", NUMBER, "Cluster price of the baseline − that of the interconnect, at `node_price`."
        ),
        verdict=described(
            NOTE,
            "`pays`, `does not pay`, or `undecided` if the interval of the saving contains 0; without"
            " an interval `would pay (untested)`, `would not pay (untested)`.",
        ),
        note=NOTE,
        **with_interval(
            "lifetime_saving",
            NUMBER,
            "Total cost of the baseline over all years minus total cost of the interconnect. "
            "The interval combines the interval of the node equivalents with all ranges.",
        ),
        lifetime_saving_percent=described(NUMBER, "That saving in percent of the baseline's total cost."),
        lifetime_verdict=described(NOTE, "As `verdict`, for that saving."),
        **with_interval(
            "break_even_nodes",
            POSITIVE,
            "Nodes with the interconnect that cost as much over all years as "
            "the nodes of the "
            "baseline; the interconnect pays with fewer nodes.",
        ),
        **with_interval("break_even_years", MONEY, "Years after which both have cost the same."),
        pays_in_years=described(NOTE, "`above` or `below` that number of years, `always`, or `never`."),
        **with_interval(
            "break_even_energy_price",
            MONEY,
            "Price of a kilowatt hour at which both cost the same over all years.",
        ),
        pays_at_energy_price=described(NOTE, "`above` or `below` that price, `always`, or `never`."),
    ),
    table_schema(
        "tornado",
        "One row per input with a range, with its sole effect on the saving over all years, at "
        "the baseline's highest speedup.",
        case=TEXT,
        **PAIR_COLUMNS,
        oversubscription=COUNT,
        **THREADS,
        processes_per_node=POSITIVE,
        target_speedup=described(POSITIVE, "Highest speedup of the baseline."),
        input=described(
            TEXT,
            "Key of the study; `NAME: loaded_watts` and `NAME: price` belong to an interconnect; "
            "`runs` is the measurement.",
        ),
        **with_interval(
            "value",
            NUMBER,
            "Value of the input; empty for runs and for prices, which depend on the size. The "
            "ends are its range.",
        ),
        lifetime_saving_percent=described(
            NUMBER, "Saving in percent of the baseline's total cost, with all inputs at their values."
        ),
        percent_at_low=described(
            NUMBER, "The same with this input at its lowest; for runs, the lower end of the interval."
        ),
        percent_at_high=described(NUMBER, "The same with this input at its highest."),
        decides=described(MARK, "Whether the saving changes its sign between the two."),
    ),
    table_schema(
        "purchase",
        "One row per budget and possible cluster for a mix of cases.",
        compared_kinds=TEXT,
        budget=described(MONEY, "Largest amount to spend."),
        interconnect=TEXT,
        kind=TEXT,
        nodes=COUNT,
        **with_descriptions(_PRICE, cluster_price="Price of the cluster."),
        affordable=described(MARK, "Whether the price is within the budget, and the power within its limit."),
        **with_interval(
            "mean_speedup",
            POSITIVE,
            "Weighted geometric mean of the cases' highest speedups on at most this number of nodes.",
        ),
        best=described(MARK, "Whether it is the fastest affordable cluster; in a tie, the cheapest."),
        may_be_best=described(MARK, "Whether it may be the best, by multiple comparisons with the best."),
        note=NOTE,
        kilowatts_limit=described(POSITIVE, "Largest power of the cluster; empty without a limit."),
        **_LIFETIME,
    ),
)
"""Schemas by table name."""
