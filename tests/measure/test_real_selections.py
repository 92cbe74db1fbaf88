"""What the files select is there under that name in UCX, libfabric and Open MPI as they are installed here."""

import re
import subprocess

import pytest

from workflows.domain import Point
from workflows.launch.mpi import unknown_parameter
from workflows.measure.attestation import probe
from workflows.paths import ROOT
from workflows.plan.here import unavailable
from workflows.study.interconnects import load_interconnect

FOLDER = ROOT / "config/interconnects"
LAUNCHED = {
    file.stem: one
    for file in sorted(FOLDER.glob("*.yaml"))
    if (one := load_interconnect(file.stem, FOLDER)).launch
}
NOT_IN_DEBIAN = {"efa", "mlx"}  # providers of Amazon's and Intel's own builds of libfabric


def printed(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def with_environment(start: str) -> list[str]:
    return [
        name
        for name, one in LAUNCHED.items()
        if any(key.startswith(start) for key in one.launch.get("env", {}))
    ]


def provider_of(launch: dict) -> str | None:
    """Provider of libfabric, the lower layer where there are two."""
    given = launch.get("mca", {}).get("mtl_ofi_provider_include") or launch.get("env", {}).get(
        "I_MPI_OFI_PROVIDER"
    )
    return given.partition(";")[0] if given else None


@pytest.mark.needs("ucx_info")
@pytest.mark.parametrize("name", with_environment("UCX_"))
def test_ucx_has_these_transports_and_variables(name):
    env = LAUNCHED[name].launch["env"]
    described = printed("ucx_info", "-c", "-f")
    assert all(
        re.search(rf"^{variable}=", described, re.M) for variable in env if variable.startswith("UCX_")
    )
    aliases = re.search(r"Comma-separated list of transports.*?UCX_TLS=", described, re.S)[0]
    known = {word for line in re.findall(r"^#  - (\S+)", aliases, re.M) for word in line.split("/")}
    known |= set(re.findall(r"Transport: (\S+)", printed("ucx_info", "-d")))
    assert set(env["UCX_TLS"].split(",")) <= known


@pytest.mark.needs("fi_info")
@pytest.mark.parametrize("name", [name for name, one in LAUNCHED.items() if provider_of(one.launch)])
def test_libfabric_has_the_provider(name):
    provider = provider_of(LAUNCHED[name].launch)
    listed = re.findall(r"^(\S+):$", printed("fi_info", "--list"), re.M)
    assert (provider in listed) != (provider in NOT_IN_DEBIAN)


@pytest.mark.parametrize("name", [name for name, one in LAUNCHED.items() if one.launch["mpi"] == "openmpi"])
def test_open_mpi_has_the_parameters_and_components(name):
    mca = LAUNCHED[name].launch["mca"]
    assert unknown_parameter(mca) is None
    components = set(re.findall(r"MCA (\w+): (\w+) ", printed("ompi_info")))
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
def test_a_probe_tells_what_carried_its_messages(name, transports):
    interconnect = LAUNCHED[name]
    assert unavailable(interconnect) is None
    placement = [{"rank": rank, "host": "here", "cores": str(rank)} for rank in (0, 1)]
    point = Point("none", name, 2, 1, 1, 2)
    found = probe(point, interconnect, (), placement)
    assert found.transports, found
    assert all(re.fullmatch(transports, one) for one in found.transports), found
