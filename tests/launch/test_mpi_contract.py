"""Contract of every MPI library, as docs/extending/mpi.md describes it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from needs import need

from workflows.domain import InputError, Interconnect, Point
from workflows.inputs import keys
from workflows.jobs import SCHEDULERS
from workflows.launch.cluster_launch import JobNode
from workflows.launch.emulation import EmulatedNode
from workflows.launch.execution import execute
from workflows.launch.launch import environment_alone, launch_ranks
from workflows.launch.mpi import library as interface
from workflows.launch.mpi.library import JobRanks, Launch, MpiLibrary, Ranks, Report
from workflows.launch.mpi.registry import MPI_LIBRARIES, library_of_launcher, linked_library
from workflows.launch.placement import check_placement, read_placement
from workflows.launch.provenance import RELEVANT_PREFIXES
from workflows.paths import INTERCONNECTS, ROOT
from workflows.study.interconnects import load_interconnect

every_library = pytest.mark.parametrize("library", MPI_LIBRARIES.values(), ids=MPI_LIBRARIES)

NODES = [
    EmulatedNode("emulated-node1", "10.0.0.1", (0,), "/proc/7/fd/3", "/proc/7/fd/4"),
    EmulatedNode("emulated-node2", "10.0.0.2", (1,), "/proc/7/fd/5", "/proc/7/fd/6"),
]
TWO_RANKS = Point("case", "memory", processes=2, oversubscription=1, nodes=1, cores=2)
PROGRAM = """
from mpi4py import MPI
world = MPI.COMM_WORLD
versions = world.gather(MPI.Get_library_version().split()[0])
if world.rank == 0:
    print(world.size, *versions)
"""


def settings_of(library: MpiLibrary) -> dict:
    """Section ``launch`` of the first interconnect of the project that uses a library."""
    interconnects = (
        load_interconnect(file.stem, INTERCONNECTS) for file in sorted(INTERCONNECTS.glob("*.yaml"))
    )
    of_machine = (
        interconnect
        for interconnect in interconnects
        if interconnect.launch.get("mpi") == library.name and interconnect.place == "machine"
    )
    return next(
        (interconnect.launch for interconnect in of_machine if interconnect.kind == "measured"),
        {"mpi": library.name},
    )


def memory_of(library: MpiLibrary) -> Interconnect:
    return Interconnect("memory", "measured", "Memory", settings_of(library), None, 1, 2)


def ranks_of(library: MpiLibrary, folder: Path, hosts: dict[str, int]) -> Ranks:
    point = Point("case", "memory", 4, 2, nodes=max(1, len(hosts)), cores=2)
    return Ranks(point, settings_of(library), hosts, ["solve", "-fast"], {"A": "1"}, folder)


@every_library
def test_names_are_unique_and_usable_in_files(library):
    assert re.fullmatch("[a-z][a-z0-9_]*", library.name)
    for attribute in ("name", "title", "job_launcher", "rank_variables"):
        values = [getattr(other, attribute) for other in MPI_LIBRARIES.values()]
        assert values.count(getattr(library, attribute)) == 1, attribute
    assert library_of_launcher(library.job_launcher) is library


@every_library
def test_only_its_module_and_the_registry_name_its_class(library):
    """Settings of its own are described in the schema of interconnects as well."""
    name = type(library).__name__
    naming = {
        file.relative_to(ROOT / "workflows/launch/mpi").as_posix()
        for file in (ROOT / "workflows/launch/mpi").glob("*.py")
        if re.search(rf"\b{name}\b", file.read_text())
    }
    assert naming == {Path(sys.modules[type(library).__module__].__file__).name, "registry.py"}
    assert keys("interconnect")
    others = [other for other in MPI_LIBRARIES.values() if other is not library]
    assert not any(library.own_settings & other.own_settings for other in others)


@every_library
def test_patterns_can_be_used_together(library):
    for attribute in ("shared_library", "process_variables"):
        assert re.compile(getattr(library, attribute))
    for attribute in ("added_lines", "launcher_lines", "status_lines"):
        assert getattr(library, attribute) is None or not re.match(getattr(library, attribute), "a result")
    variables = library.rank_variables
    for name in filter(None, (variables.rank, variables.local_rank, variables.local_size)):
        assert re.fullmatch("[A-Z][A-Z0-9_]*", name)
    assert not re.fullmatch(library.process_variables, "PATH")
    assert set(library.environment_prefixes) <= set(RELEVANT_PREFIXES)


@every_library
def test_a_launcher_here_starts_the_command_on_every_rank(library, tmp_path):
    launch = library.launch(ranks_of(library, tmp_path, {}))
    assert isinstance(launch, Launch)
    assert launch.argv[0] in library.programs and launch.argv[-2:] == ["solve", "-fast"]
    assert "4" in launch.argv and launch.env["A"] == "1"
    assert all(isinstance(text, str) for text in (*launch.argv, *launch.env, *launch.env.values()))


@every_library
def test_a_launcher_enters_emulated_nodes_in_their_order(library, tmp_path):
    launch = library.launch(ranks_of(library, tmp_path, {"emulated-node1": 2, "emulated-node2": 2}))
    assert any(re.search("emulated-node1.*emulated-node2", word) for word in launch.argv)
    assert "enter-node" in launch.argv


@every_library
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_launcher_in_a_job_starts_the_command_on_the_hosts_of_the_job(library, scheduler):
    ranks = JobRanks({"n1": 2, "n2": 1}, ["solve", "-fast"], ["A"], SCHEDULERS[scheduler], [])
    launch = library.launch_in_job(ranks)
    assert launch.argv[-2:] == ["solve", "-fast"] and "3" in launch.argv
    assert any(re.search(r"n1\b.*n2\b", word) for word in launch.argv)
    in_slurm = [name for name in launch.env if name.startswith("SLURM_")]
    assert scheduler == "slurm" or not in_slurm


@every_library
def test_variables_of_interconnect_and_case_override_those_of_the_library(library, tmp_path):
    point, memory = Point("case", "memory", 2, 1, 2, 2), memory_of(library)
    names = launch_ranks(point, memory, NODES, ["solve"], {}, tmp_path).env.keys() - os.environ.keys()
    chosen = dict.fromkeys(sorted(names - {"NODEWORTH_NODES", "NODEWORTH_OUTPUT", "TMPDIR"}), "of the case")
    given = launch_ranks(point, memory, NODES, ["solve"], chosen, tmp_path).env
    assert {name: given[name] for name in chosen} == chosen


@every_library
def test_no_run_inherits_the_number_of_a_rank(library, tmp_path, monkeypatch):
    monkeypatch.setenv(library.rank_variables.rank, "7")
    for nodes in ((), [JobNode("n1", library.job_launcher, "pmix")]):
        launch = launch_ranks(TWO_RANKS, memory_of(library), nodes, ["solve"], {}, tmp_path)
        assert library.rank_variables.rank not in launch.env
    assert library.rank_variables.rank not in environment_alone(library.name, {}, tmp_path)


@every_library
def test_a_run_without_a_report_has_none(library, tmp_path):
    settings = settings_of(library)
    report = library.read_report("something else\n", tmp_path)
    assert report == Report([], {}, "something else\n")
    assert library.one_sided_problem(settings, Report([]), one_sided=False) is None
    assert all(
        isinstance(text, str) for item in library.reporting(settings, tmp_path).items() for text in item
    )


@every_library
def test_settings_of_the_project_are_right(library):
    assert library.settings_problem(settings_of(library), emulated=False) is None
    assert library.option_problem(settings_of(library), {}) is None
    assert library.own_settings <= settings_of(library).keys()


@every_library
def test_an_interconnect_with_settings_of_another_library_is_refused(library, tmp_path):
    foreign = {key for other in MPI_LIBRARIES.values() for key in other.own_settings} - library.own_settings
    for key in foreign:
        launch = f"{{mpi: {library.name}, {key}: {{name: value}}}}"
        (tmp_path / "mine.yaml").write_text(
            f"name: mine\nkind: measured\ntitle: Mine\ndescription: Mine.\nlaunch: {launch}\n"
        )
        with pytest.raises(InputError, match=f"launch.{key}: does not belong here"):
            load_interconnect("mine", tmp_path)


@every_library
def test_its_compiler_makes_programs_that_are_linked_to_it(library, tmp_path):
    compiler = library.compiler()
    if compiler is None:
        pytest.skip(f"no compiler of {library.title}")
    need(compiler)
    source = tmp_path / "program.c"
    source.write_text("#include <mpi.h>\nint main(void) { return MPI_Init(0, 0); }\n")
    subprocess.run([compiler, source, "-o", tmp_path / "program"], check=True, timeout=60)
    linked = linked_library(str(tmp_path / "program"))
    assert linked is not None and linked[0] is library and Path(linked[1]).is_file()


@every_library
def test_an_installed_library_has_a_version(library):
    need(*library.programs)
    version = library.version()
    assert version and re.search(r"\d+\.\d+", version)


@every_library
def test_a_library_that_is_not_installed_is_named_with_its_package(library, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    missing = library.missing_programs()
    assert missing and missing.startswith(library.programs[0]) and f"Debian: {library.package}" in missing


@every_library
def test_real_ranks_form_one_world_on_their_own_cores(library, tmp_path):
    need(*library.programs)
    launch = launch_ranks(TWO_RANKS, memory_of(library), (), [sys.executable, "-c", PROGRAM], {}, tmp_path)
    done = execute(launch.argv, launch.env, tmp_path, time_limit_seconds=60)
    assert done.exit_status == 0, done.errors
    first_word = library.title.split()[0]
    assert [line.text for line in done.lines] == [f"2 {first_word} {first_word}"]
    assert check_placement(read_placement(tmp_path), TWO_RANKS, ()) is None


def test_the_interface_is_documented():
    """Every attribute and method that a library may set is on the page."""
    page = (ROOT / "docs/extending/mpi.md").read_text()
    public = [name for name in {**vars(MpiLibrary), **MpiLibrary.__annotations__} if not name.startswith("_")]
    inherited = {"compiler", "file_of", "missing_programs", "version"}
    assert inherited <= vars(MpiLibrary).keys() and interface.TOOLS
    assert [name for name in public if name not in inherited and f"`{name}" not in page] == []


def test_the_template_is_a_library():
    page = (ROOT / "docs/extending/mpi.md").read_text()
    [template] = re.findall(r"```python\n(.*?)```", page, re.S)
    namespace: dict = {"__name__": "example_mpi"}
    exec(compile(template, "template", "exec"), namespace)
    example = namespace["ExampleMpi"]()
    launch = example.launch(ranks_of(example, ROOT, {"emulated-node1": 2, "emulated-node2": 2}))
    assert launch.argv[0] == "exrun" and launch.argv[-2:] == ["solve", "-fast"]
