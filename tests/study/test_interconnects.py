"""Interconnect files: allowed content, messages about mistakes, and the digest."""

import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from programs import ran
from refused import refusal

from workflows.domain import InputError
from workflows.launch import emulation
from workflows.paths import INTERCONNECTS
from workflows.plan.here import unavailable
from workflows.study.factors import factors
from workflows.study.interconnects import digest, load_interconnect

MEASURED = """
name: mine
kind: measured
title: Mine
description: A test's own.
launch: {mpi: openmpi, mca: {btl: "self,vader"}}
"""
EMULATED = MEASURED.replace("measured", "emulated") + (
    "emulate: {nodes: 2, cores_per_node: 1, rate_mbps: 100, mtu: 1500, burst_bytes: 2048, gso_max_bytes: 6000}\n"
)


def load(folder: Path, text: str):
    (folder / "mine.yaml").write_text(text)
    return load_interconnect("mine", folder)


def test_a_measured_interconnect_is_on_this_machine_by_default(tmp_path):
    here = load(tmp_path, MEASURED)
    assert (here.nodes, here.cores_per_node) == (1, len(os.sched_getaffinity(0)))
    elsewhere = load(tmp_path, MEASURED + "place: {nodes: 4, cores_per_node: 16}\n")
    assert (elsewhere.nodes, elsewhere.cores_per_node) == (4, 16)


def test_an_emulated_one_has_the_nodes_that_it_emulates(tmp_path):
    interconnect = load(tmp_path, EMULATED)
    assert (interconnect.nodes, interconnect.cores_per_node) == (2, 1)
    assert interconnect.emulate["rate_mbps"] == 100


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("title:", "titel:", "titel: unknown key, did you mean 'title'?; allowed: "),
        ("name: mine", "name: yours", "name: 'yours' must be 'mine', as the file is called"),
        ("kind: emulated", "kind: measured", "emulate: does not belong here, since kind is measured"),
        ("kind: emulated", "kind: simulated", "simulate: missing, since kind is simulated"),
        ("mpi: openmpi", "mpi: lam", "launch.mpi: no 'lam' here; allowed: openmpi, mpich"),
        ("mpi: openmpi", "mpi: mpich", "launch.mca: does not belong here, since launch.mpi is mpich"),
        (', mca: {btl: "self,vader"}', "", "launch.mca: missing, since launch.mpi is openmpi"),
        ("", "attest: {latency: [1, 2]}", "attest.latency: unknown key, did you mean 'latency_us'"),
        ("", "attest: {latency_us: [1]}", "attest.latency_us: [1] has too few entries; at least 2"),
        ("", "attest: {bandwidth_MBps: [122, 100]}", "attest.bandwidth_MBps: 122 must be below 100"),
        ("", "factors: {transport: ib}", "factors.transport: no 'ib' here; allowed: rc, uc, ud"),
        ("", "factors: {path: direct}", "factors.path: no 'direct' here"),
        (
            "",
            "factors: {mtu: 9000}",
            "factors.mtu: does not belong here, since kind is emulated: section emulate decides it",
        ),
        ("", "place: {nodes: 2, cores_per_node: 1}", "place: does not belong here"),
        ("nodes: 2", "nodes: 1", "emulate.nodes: 1 is too small; at least 2"),
        ("mtu: 1500", "mtu: jumbo", "emulate.mtu: 'jumbo' is not a whole number"),
        ("mtu: 1500", "mtu: 9000", "emulate.burst_bytes: 2048 is too small; at least mtu + header = 9014"),
        ("rate_mbps: 100,", "", "emulate.rate_mbps: missing (Rate of each link"),
        ("btl:", "mpi_yield_when_idle: 1, btl:", "launch.mca.mpi_yield_when_idle: does not belong here"),
        ("btl:", "plm_rsh_agent: ssh, btl:", "launch.mca.plm_rsh_agent: does not belong here, since kind is"),
    ],
)
def test_a_mistake_is_reported_in_one_line(tmp_path, old, new, message):
    assert old in EMULATED
    changed = EMULATED.replace(old, new, 1) if old else f"{EMULATED}{new}\n"
    assert refusal(InputError, load, tmp_path, changed).startswith(f"{tmp_path / 'mine.yaml'}: {message}")


def test_an_emulated_interconnect_needs_the_key_emulate(tmp_path):
    with pytest.raises(InputError, match="emulate: missing, since kind is emulated"):
        load(tmp_path, MEASURED.replace("measured", "emulated"))


def test_an_unknown_name_is_reported_with_the_nearest():
    message = refusal(InputError, load_interconnect, "emulated_gigabyte", INTERCONNECTS)
    assert "no interconnect 'emulated_gigabyte', did you mean 'emulated_gigabit'" in message


def test_an_unknown_name_lists_interconnects_by_kind_so_that_a_model_is_not_taken_for_hardware():
    line = refusal(InputError, load_interconnect, "infiniband_verb", INTERCONNECTS)
    measured, _, rest = line.partition("similar: measured: ")[2].partition("; simulated (models): ")
    simulated, _, rest = rest.partition("; all names: ")
    assert "infiniband_verbs" in measured.split(", ") and "infiniband_qdr" in simulated.split(", ")
    assert rest == f"ls {INTERCONNECTS}"


def test_a_part_of_names_is_similar_to_them():
    line = refusal(InputError, load_interconnect, "tcp", INTERCONNECTS)
    assert "similar: measured: ucx_tcp, " in line and "libfabric_tcp" in line


def test_an_unknown_name_without_similar_names_gets_the_command_that_lists_all():
    line = refusal(InputError, load_interconnect, "zzz", INTERCONNECTS)
    assert line == f"{INTERCONNECTS}: no interconnect 'zzz'; all names: ls {INTERCONNECTS}"


def test_the_examples_of_the_documentation_are_right(tmp_path):
    pages = (Path(f"docs/{page}.md").read_text() for page in ("interconnects", "factors"))
    examples = [
        text for page in pages for text in re.findall("```yaml\n(name:.*?)```", page, flags=re.DOTALL)
    ]
    names = [example.split()[1] for example in examples]
    for name, example in zip(names, examples, strict=True):
        (tmp_path / f"{name}.yaml").write_text(example)
        assert load_interconnect(name, tmp_path).name == name
    assert len(names) == 3


def test_the_digest_depends_only_on_what_changes_a_run(tmp_path):
    loaded = load(tmp_path, EMULATED)
    assert digest(loaded) == digest(load(tmp_path, EMULATED.replace("Mine", "Other").replace("A test", "B")))
    assert digest(loaded) == digest(replace(loaded, nodes=8, cores_per_node=4))
    others = [
        EMULATED.replace("rate_mbps: 100", "rate_mbps: 101"),
        EMULATED.replace("self,vader", "self,tcp"),
        EMULATED.replace("mca:", "env: {UCX_TLS: rc}, mca:"),
    ]
    assert len({digest(loaded), *(digest(load(tmp_path, text)) for text in others)}) == 4


def test_a_measured_one_can_be_used_where_it_is(tmp_path):
    here = load(tmp_path, MEASURED)
    assert unavailable(here) is None
    assert unavailable(replace(here, nodes=4)).startswith("is on 4 nodes")
    assert unavailable(replace(here, cores_per_node=10_000)).startswith("needs 10000 cores")


def test_missing_programs_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    reason = unavailable(load(tmp_path, MEASURED))
    assert reason == "mpirun, taskset, setpriv not installed (Debian: openmpi-bin, util-linux)"


def test_too_few_cores_for_emulated_nodes_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(emulation, "usable_cores", lambda: [0])
    assert unavailable(load(tmp_path, EMULATED)) == "2 nodes of 1 cores need 2 cores, 1 are usable here"


TRY = """
from pathlib import Path
from workflows.plan.here import unavailable
from workflows.study.interconnects import load_interconnect
for name in ("emulated_gigabit", "shared_memory"):
    print(unavailable(load_interconnect(name, Path("config/interconnects"))))
"""


def test_without_the_right_to_make_namespaces_the_reason_is_one_line():
    rightless = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    message = "cannot make a network namespace (as root?): unshare: unshare failed: Operation not permitted"
    assert ran(*rightless, sys.executable, "-c", TRY).stdout.splitlines() == [message, "None"]


def test_factors_include_every_setting_of_an_interconnect(tmp_path):
    given = "{transport: ud, mtu: 2048, cable: copper 5 m, path: back_to_back}"
    others = {"transport": "ud", "mtu": 2048, "cable": "copper 5 m", "path": "back_to_back"}
    used = {"mpi": "Open MPI", "launch.mca.btl": "self,vader"}
    measured = load(tmp_path, f"{MEASURED}link_mbps: 8000\nfactors: {given}\n")
    assert factors(measured) == used | {"link_mbps": 8000} | others
    link = {"link_mbps": 100, "transport": "tcp", "mtu": 1500, "path": "switched"}
    emulated = {"nodes": 2, "cores_per_node": 1, "burst_bytes": 2048, "gso_max_bytes": 6000}
    emulated = {f"emulate.{key}": value for key, value in emulated.items()}
    assert factors(load(tmp_path, EMULATED)) == used | link | emulated


@pytest.mark.parametrize(
    ("transport", "carriers", "right"),
    [
        ("rc", "rc,self", True),
        ("rc", "self,rc_x", True),
        ("ud", "all", True),
        ("ud", "rc,self", False),
        ("uc", "rc,ud,self", False),
        ("tcp", "self,tcp", True),
        ("tcp", "rc,self", False),
    ],
)
def test_a_transport_that_ucx_is_not_given_is_refused(tmp_path, transport, carriers, right):
    text = MEASURED.replace("mca:", f'env: {{UCX_TLS: "{carriers}"}}, mca:')
    text += f"factors: {{transport: {transport}}}\n"
    if right:
        assert load(tmp_path, text).factors == {"transport": transport}
    else:
        message = f"factors.transport: '{transport}' is not among launch.env.UCX_TLS: {carriers}"
        assert message in refusal(InputError, load, tmp_path, text)


def test_the_digest_depends_on_factors_and_not_on_attest(tmp_path):
    digest_before = digest(load(tmp_path, MEASURED))
    assert digest(load(tmp_path, MEASURED + "attest: {latency_us: [1, 2]}\n")) == digest_before
    cables = (f"{MEASURED}factors: {{cable: copper {length} m}}\n" for length in (1, 5))
    assert len({digest_before, *(digest(load(tmp_path, text)) for text in cables)}) == 3


@pytest.mark.parametrize(
    "names",
    [
        ("emulated_ten_gigabit", "emulated_ten_gigabit_mtu1500"),
        ("emulated_gigabit_mtu9000", "emulated_gigabit_mtu1500"),
    ],
)
def test_two_files_that_differ_in_the_mtu_alone_differ_in_nothing_else(names):
    jumbo, usual = (factors(load_interconnect(name, INTERCONNECTS)) for name in names)
    assert {key for key in jumbo if jumbo[key] != usual[key]} == {"mtu"}
    assert (jumbo["mtu"], usual["mtu"]) == (9000, 1500)


def test_a_misspelt_parameter_of_open_mpi_is_reported_with_the_nearest(tmp_path):
    message = "btl_tcp_if_inclde: Open MPI has no such parameter here, did you mean 'btl_tcp_if_include'?"
    misspelt = load(tmp_path, MEASURED.replace("btl:", "btl_tcp_if_inclde: lo, btl:"))
    assert unavailable(misspelt) == f"launch.mca.{message}"


def test_the_source_of_a_model_changes_no_run():
    model = load_interconnect("infiniband", INTERCONNECTS)
    other = replace(model, simulate={**model.simulate, "source": "the same numbers, in other words"})
    assert digest(other) == digest(model)
    slower = replace(model, simulate={**model.simulate, "half_duplex": not model.simulate["half_duplex"]})
    assert digest(slower) != digest(model)
