"""Our curves in the formats of OSU, IMB and NetPIPE, read back by our importers."""

import numpy as np
import pandas as pd
import pytest
from runs_with_details import network_of

from analysis.importers import read_foreign
from analysis.topics.network.curves import network_table
from analysis.topics.network.text_formats import FORMATS, write_texts

SIZES = [0, 1, 8, 1021, 1024, 1 << 24]
TIMES = {"seconds_p5": 0.9, "seconds_p25": 0.95, "seconds_p50": 1.0, "seconds_p75": 1.1, "seconds_p95": 1.5,
         "seconds_lowest_rank": 0.8, "seconds_highest_rank": 1.3}  # fmt: skip


def network(benchmark, interconnect="gigabit"):
    directions = {"pingpong": 1, "sendrecv": 2}.get(benchmark)
    alone = benchmark == "pingpong"  # timed by one rank
    rows = []
    for size in [None] if benchmark == "barrier" else SIZES:
        seconds = 7.6e-6 + (size or 0) / 117e6
        times = {name: seconds * (1 if alone and "rank" in name else share) for name, share in TIMES.items()}
        moved = directions and directions * size
        rows.append({"bytes": size, "n": 17, "moved_bytes": moved, "busy_share": 1.0, **times})
    run = {"case": benchmark, "interconnect": interconnect, "kind": "measured", "processes": 2}
    runs = pd.DataFrame([run | {"oversubscription": 1, "nodes": 2, "site": None}])
    return network_table(*network_of(runs, [{"rows": rows}]))


CASES = [(suffix, benchmark) for suffix, (_, benchmarks) in FORMATS.items() for benchmark in benchmarks]


@pytest.mark.parametrize(("suffix", "benchmark"), CASES)
def test_round_trip(tmp_path, shared_memory, suffix, benchmark):
    table = network(benchmark)
    (path,) = [path for path in write_texts(table, tmp_path / "curves") if path.suffix == f".{suffix}"]
    imported = read_foreign(path, suffix, shared_memory)
    assert [line for line in imported.unread if "columns 3 and 4" not in line] == []
    back, sent = imported.curves, table
    factor = 1
    if suffix == "netpipe":
        sent = table[table["bytes"] > 0]
        factor = 2 if benchmark == "sendrecv" else 1
    assert list(back["bytes"].dropna()) == list((sent["bytes"] * factor).dropna())
    np.testing.assert_allclose(back["latency_us"], sent["latency_us"], rtol=1e-4)
    if suffix == "imb" and benchmark != "barrier":
        assert set(back["processes"]) == {2}
    if back["latency_us_high"].notna().any():
        np.testing.assert_allclose(back["latency_us_high"], sent["latency_us_highest_rank"], rtol=1e-4)
    if suffix != "osu" and benchmark in ("pingpong", "sendrecv"):
        slowest = sent["latency_us_highest_rank"] if suffix == "imb" else sent["latency_us"]
        rate = sent["bandwidth_MBps"] * sent["latency_us"] / slowest
        np.testing.assert_allclose(back["bandwidth_MBps"].fillna(0), rate.fillna(0), rtol=1e-3)


def test_a_file_is_named_after_its_curve_and_states_its_source(tmp_path):
    paths = write_texts(network("pingpong"), tmp_path)
    assert [path.name for path in paths] == [f"pingpong-gigabit-2-1.{suffix}" for suffix in FORMATS]
    assert paths[0].read_text().startswith("# Written by Nodeworth from its benchmark pingpong")


def test_columns_unknown_to_the_format_are_not_written(tmp_path):
    assert write_texts(network("availability"), tmp_path / "curves") == []
    assert not (tmp_path / "curves").exists()
