"""Names selected by the interconnect files exist in the installed UCX, libfabric and Open MPI."""

import functools
import re

import pytest
from programs import printed

from workflows.domain import Point
from workflows.launch.mpi.registry import MPI_LIBRARIES
from workflows.measure.attestation import probe
from workflows.paths import INTERCONNECTS
from workflows.plan.here import unavailable
from workflows.study.interconnects import load_interconnect

NAMES = sorted(file.stem for file in INTERCONNECTS.glob("*.yaml"))
printed_lines = functools.cache(printed)
LAUNCHED = {name: loaded for name in NAMES if (loaded := load_interconnect(name, INTERCONNECTS)).launch}
NOT_IN_DEBIAN = {"efa", "mlx"}  # providers of Amazon's and Intel's own builds of libfabric


def provider_of(launch: dict) -> str | None:
    """Provider of libfabric, the lower layer where there are two."""
    mca, env = launch.get("mca", {}), launch.get("env", {})
    given = mca.get("mtl_ofi_provider_include") or env.get("I_MPI_OFI_PROVIDER")
    return given.partition(";")[0] if given else None


OVER_UCX = [name for name, loaded in LAUNCHED.items() if "UCX_TLS" in loaded.launch.get("env", {})]
OVER_LIBFABRIC = [name for name, loaded in LAUNCHED.items() if provider_of(loaded.launch)]
OF_OPEN_MPI = [name for name, loaded in LAUNCHED.items() if loaded.launch["mpi"] == "openmpi"]


def test_there_are_interconnects_of_every_way():
    assert OVER_UCX and OVER_LIBFABRIC and OF_OPEN_MPI


@pytest.mark.needs("ucx_info")
@pytest.mark.parametrize("name", OVER_UCX)
def test_ucx_has_these_transports_and_variables(name):
    env = LAUNCHED[name].launch["env"]
    described = printed_lines("ucx_info", "-c", "-f")
    variables = [variable for variable in env if variable.startswith("UCX_")]
    assert all(re.search(rf"^{variable}=", described, re.M) for variable in variables)
    aliases = re.search(r"Comma-separated list of transports.*?UCX_TLS=", described, re.S)[0]
    names = {word for line in re.findall(r"^#  - (\S+)", aliases, re.M) for word in line.split("/")}
    names |= set(re.findall(r"Transport: (\S+)", printed_lines("ucx_info", "-d")))
    assert set(env["UCX_TLS"].split(",")) <= names


@pytest.mark.needs("fi_info")
@pytest.mark.parametrize("name", OVER_LIBFABRIC)
def test_libfabric_has_the_provider(name):
    provider = provider_of(LAUNCHED[name].launch)
    listed = re.findall(r"^(\S+):$", printed_lines("fi_info", "--list"), re.M)
    assert (provider in listed) != (provider in NOT_IN_DEBIAN)


@pytest.mark.parametrize("name", OF_OPEN_MPI)
def test_open_mpi_has_the_parameters_and_components(name):
    mca = LAUNCHED[name].launch["mca"]
    assert MPI_LIBRARIES["openmpi"].unknown_setting({"mca": mca}) is None
    components = set(re.findall(r"MCA (\w+): (\w+) ", printed_lines("ompi_info")))
    for framework in ("pml", "btl", "mtl", "osc"):
        for component in filter(None, mca.get(framework, "").split(",")):
            assert (framework, component) in components


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "transports"),
    [
        ("ucx_shared_memory", r"(cma|sysv|posix)/memory"),
        ("ucx_tcp_loopback", "tcp/lo"),
        ("shared_memory", "vader"),
        ("tcp_loopback", "tcp"),
    ],
)
def test_a_probe_reports_its_transports(name, transports):
    interconnect = LAUNCHED[name]
    assert unavailable(interconnect) is None
    placement = [{"rank": rank, "host": "here", "cores": str(rank)} for rank in (0, 1)]
    point = Point("none", name, 2, 1, 1, 2)
    attested = probe(point, interconnect, (), placement)
    assert attested.transports, attested
    assert all(re.fullmatch(transports, transport) for transport in attested.transports), attested
