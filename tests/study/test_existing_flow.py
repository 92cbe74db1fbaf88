"""Flow cases of users, run as they are: tutorials of Debian's openfoam-examples."""

import gzip
import hashlib
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from disturbed import sound_runs, undisturbed_run
from programs import printed
from refused import refusal

from workflows import command
from workflows.applications import application
from workflows.applications.foam_dictionary import read
from workflows.command import main
from workflows.domain import InputError, Point
from workflows.measure import prepare as preparing
from workflows.measure.answers import compare_answer
from workflows.measure.prepare import prepare, reference_answer
from workflows.paths import INTERCONNECTS, ROOT
from workflows.plan.case_study import case_study
from workflows.results.facts import _case_facts
from workflows.study.cases import digest, load_case
from workflows.study.existing import make_case
from workflows.study.inline import Existing
from workflows.study.interconnects import load_interconnect
from workflows.study.study import read_study
from workflows.study.written import write_study

EXAMPLES = Path("/usr/share/doc/openfoam-examples/examples")

pytestmark = pytest.mark.needs("icoFoam", "mpirun.openmpi", f"{EXAMPLES}/Allrun")


@pytest.fixture
def tutorial(tmp_path):
    """Copies a tutorial into a folder of a user, which nobody may write to."""

    def copy(path, name=None):
        folder = tmp_path / "run" / (name or Path(path).name)
        shutil.copytree(EXAMPLES / path, folder)
        return folder

    return copy


@pytest.fixture
def adopt(tmp_path):
    """Makes Nodeworth's case of a folder, which must be the same afterwards."""

    def made(folder, steps=50, run_scripts=False, run_here=True):
        before = state_of(folder)
        given = Existing(folder.name, folder, steps, run_scripts, Path("mine.yaml"))
        make_case(given, tmp_path / "cases", run_here, 300)
        assert state_of(folder) == before
        return load_case(folder.name, tmp_path / "cases")

    return made


def state_of(folder):
    """Digest of names, contents and times of all files of a folder."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    states = [(str(path), path.stat().st_mtime_ns, path.read_bytes()) for path in paths]
    return hashlib.sha256(repr(states).encode()).hexdigest()


def consistency(case, tmp_path, processes=2):
    """Why a run on some processes does not count, and what it was compared with."""
    prepare(case, 1, tmp_path / "1")
    expected = reference_answer(case, tmp_path / "1", 300)
    prepare(case, processes, tmp_path / str(processes), tmp_path / "1")
    interconnect = load_interconnect("shared_memory", INTERCONNECTS)
    point = Point(case.name, interconnect.name, processes, processes, nodes=1, cores=1)
    done = undisturbed_run(case, point, tmp_path / str(processes), interconnect, (), 300)
    assert done.problem is None, (done.problem, done.execution.errors)
    return compare_answer(case, None, expected, done.reading.details)[1], expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "solver", "steps", "fields", "changed"),
    [
        ("incompressible/icoFoam/cavity/cavity", "icoFoam", 50, {"U", "p"}, "Nodeworth ran blockMesh"),
        (
            "compressible/rhoPimpleFoam/RAS/cavity",
            "rhoPimpleFoam",
            50,
            {"U", "p", "T"},
            "no fields are written",
        ),
        (
            "multiphase/interFoam/laminar/damBreak/damBreak",
            "interFoam",
            20,
            {"U", "p_rgh", "alpha.water"},
            "adjustTimeStep yes is now no, so deltaT stays 0.001",
        ),
        (
            "incompressible/simpleFoam/pitzDaily",
            "simpleFoam",
            10,
            {"U", "p", "k"},
            "SIMPLE.residualControl of p, U, ",
        ),
        (
            "heatTransfer/buoyantPimpleFoam/hotRoom",
            "buoyantPimpleFoam",
            20,
            {"U", "T"},
            "ran blockMesh, setFields",
        ),
    ],
)
def test_a_tutorial_runs_as_it_is_and_its_runs_agree(
    tutorial, adopt, tmp_path, path, solver, steps, fields, changed
):
    case = adopt(tutorial(path), steps)
    assert (case.settings["solver"], case.parameters["iterations"]) == (solver, steps)
    assert changed in case.description
    assert "Consistent results may still be wrong." in case.description
    wrong, expected = consistency(case, tmp_path)
    assert wrong is None
    assert fields <= expected["details"]["averages"].keys()
    assert expected["source"] == "serial" and expected["spread"]


@pytest.mark.slow
def test_a_method_of_decomposition_that_is_not_installed_is_replaced(tutorial, adopt, tmp_path):
    folder = tutorial("incompressible/icoFoam/cavity/cavity")
    shutil.copy(EXAMPLES / "mesh/parallel/cavity/system/decomposeParDict", folder / "system")
    assert "scotch;" in (folder / "system/decomposeParDict").read_text()
    case = adopt(folder)
    assert "decomposition method scotch is not installed here: hierarchical replaces it" in case.description
    wrong, _ = consistency(case, tmp_path)
    assert wrong is None


@pytest.mark.slow
def test_a_method_that_is_installed_stays_whether_or_not_the_path_of_the_copy_is_absolute(
    tutorial, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    folder = tutorial("multiphase/interFoam/laminar/damBreak/damBreak")
    digests = set()
    for cases in (Path("relative"), tmp_path / "absolute"):
        given = Existing(folder.name, folder, 5, False, Path("mine.yaml"))
        make_case(given, cases, True, 300)
        case = load_case(folder.name, cases)
        assert case.settings["as_is"]["method"] == "simple"
        digests.add(digest(case))
    assert len(digests) == 1


@pytest.mark.slow
def test_functions_and_libraries_stay_and_turbulence_is_compared_after_the_first_step(
    tutorial, adopt, tmp_path
):
    case = adopt(tutorial("incompressible/pisoFoam/LES/pitzDaily"), steps=8)
    control = read(case.folder, "system/controlDict")
    assert {"fieldAverage1", "surfaceSampling"} <= control["functions"].keys()
    assert case.settings["as_is"]["chaotic"]
    wrong, expected = consistency(case, tmp_path)
    assert wrong is None and "U" in expected["details"]["averages"]


@pytest.mark.slow
def test_a_run_that_differs_from_the_serial_run_does_not_count(tutorial, adopt, tmp_path):
    case = adopt(tutorial("incompressible/icoFoam/cavity/cavity"))
    _, expected = consistency(case, tmp_path)
    details = expected["details"]
    assert compare_answer(case, None, expected, details)[1] is None
    (speed,) = details["averages"]["mag(U)"]
    faster = details | {
        "averages": details["averages"] | {"U": [value + 0.3 * speed for value in details["averages"]["U"]]}
    }
    assert "volume average of U" in compare_answer(case, None, expected, faster)[1]
    lost = details | {"averages": details["averages"] | {"p": [None]}}
    assert "volume average of p: no finite number" in compare_answer(case, None, expected, lost)[1]
    leaking = details | {"recent_continuity_error": 11 * details["recent_continuity_error"]}
    assert (
        "continuity error: 11 (times the serial value), allowed 10"
        in compare_answer(case, None, expected, leaking)[1]
    )


@pytest.mark.parametrize(
    "time_problem", ["main loop too short to be timed", "time unsure: 0.9 s by the arrival of the lines"]
)
def test_an_untimed_run_may_be_too_short_to_be_timed(tutorial, adopt, tmp_path, monkeypatch, time_problem):
    """On a busy machine, all lines of a short run may arrive at once."""
    real_run = preparing.run
    monkeypatch.setattr(preparing, "run", lambda *given: replace(real_run(*given), problem=time_problem))
    case = adopt(tutorial("incompressible/icoFoam/cavity/cavity"), 10)
    prepare(case, 1, tmp_path / "prepared")
    expected = reference_answer(case, tmp_path / "prepared", 300)
    assert expected["spread"] and "spread_problem" not in expected


def test_a_failed_run_of_another_decomposition_is_in_the_report(tutorial, adopt, tmp_path, monkeypatch):
    """It shows no spread, so the report says which limits remain."""

    def run(case, point, *rest):
        done = real_run(case, point, *rest)
        return done if point.processes == 1 else replace(done, problem="floating point exception")

    real_run = preparing.run
    monkeypatch.setattr(preparing, "run", run)
    case = adopt(tutorial("incompressible/icoFoam/cavity/cavity"), 10)
    prepare(case, 1, tmp_path / "prepared")
    expected = reference_answer(case, tmp_path / "prepared", 300)
    problem = (
        "the spread of two decompositions is unknown, since an untimed run on 2 processes failed: floating point "
        "exception. Only the fixed limits of the comparison count"
    )
    assert expected["spread"] == {} and expected["spread_problem"] == problem
    file = tmp_path / "expected.json"
    file.write_text(json.dumps(expected))
    asked, places = SimpleNamespace(cases={"cavity": case}), SimpleNamespace(expected=lambda name: file)
    assert _case_facts(asked, places, "cavity").description.endswith(f" T{problem[1:]}.")


@pytest.mark.slow
@pytest.mark.parametrize("processes", [2, 4])
def test_a_converged_case_is_consistent_though_its_last_continuity_error_is_noise(
    tutorial, adopt, tmp_path, processes
):
    wrong, expected = consistency(
        adopt(tutorial("incompressible/icoFoam/cavity/cavity"), steps=3000), tmp_path, processes
    )
    assert wrong is None
    details = expected["details"]
    assert details["recent_continuity_error"] > details["continuity_error"] > 0


@pytest.mark.slow
def test_a_motor_bike_is_meshed_by_snappy_hex_mesh(tutorial, adopt, tmp_path):
    folder = tutorial("incompressible/simpleFoam/motorBike", "motorBike-v2")
    surface = EXAMPLES / "resources/geometry/motorBike.obj.gz"
    shutil.copy(surface, folder / "constant/triSurface")
    dictionary = folder / "system/snappyHexMeshDict.gz"
    text = gzip.decompress(dictionary.read_bytes()).decode()
    for fine, coarse in (("level (5 6)", "level (2 2)"), ("level 6;", "level 1;"), ("1E15 4", "1E15 1")):
        assert fine in text
        text = text.replace(fine, coarse)
    text = text.replace("snap            true", "snap false").replace(
        "addLayers       true", "addLayers false"
    )
    dictionary.write_bytes(gzip.compress(text.encode()))
    (folder / "system/decomposeParDict.6").unlink()
    case = adopt(folder, steps=5)
    assert case.name == "motorBike-v2"
    assert "surfaceFeatureExtract, blockMesh, snappyHexMesh -overwrite" in case.description
    wrong, _ = consistency(case, tmp_path)
    assert wrong is None


@pytest.mark.slow
def test_a_script_runs_only_when_asked(tutorial, adopt):
    folder = tutorial("incompressible/icoFoam/cavity/cavity")
    script = folder / "Allrun.pre"
    script.write_text(
        '#!/bin/sh\ncd "${0%/*}" || exit\n. ${WM_PROJECT_DIR:?}/bin/tools/RunFunctions\n'
        "runApplication blockMesh\nrestore0Dir\n"
    )
    (folder / "0").rename(folder / "0.orig")
    assert "Allrun.pre was not run (--run-scripts runs it)" in adopt(folder).description
    case = adopt(folder, run_scripts=True)
    assert "Nodeworth ran sh ./Allrun.pre" in case.description
    assert (case.folder / "0/U").is_file()
    script.write_text("exit 3\n")
    assert "Allrun.pre: exit status 3: no output" in refusal(InputError, adopt, folder, run_scripts=True)
    script.unlink()
    (folder / "0.orig").rename(folder / "0")
    case = adopt(folder, run_scripts=True)
    assert "There is no Allrun.pre to run." in case.description
    assert "runTimeModifiable is now no; timePrecision 6 is now 12; functions are added" in case.description


def test_parts_along_the_axes_serve_one_count(tutorial, adopt):
    folder = tutorial("incompressible/icoFoam/cavity/cavity")
    (folder / "system/decomposeParDict").write_text(
        "FoamFile { version 2.0; format ascii; class dictionary; object decomposeParDict; }\n"
        "numberOfSubdomains 4; method simple; simpleCoeffs { n (4 1 1); delta 0.001; }\n"
    )
    stated = "n (4 1 1) of simple applies only to 4 processes, and Nodeworth chooses n for other counts"
    assert stated in adopt(folder).description


@pytest.mark.slow
def test_the_number_of_steps_is_the_users_up_to_a_time(tutorial, adopt):
    folder = tutorial("incompressible/icoFoam/cavity/cavity")
    case = adopt(folder, steps=None)
    assert 10 <= case.parameters["iterations"] <= 100
    assert case.serial_seconds > 0 and case.memory_MB > 10
    before = digest(case)
    assert digest(adopt(folder, steps=None)) == before
    with (folder / "constant/transportProperties").open("a") as file:
        file.write("nu 0.02;\n")
    assert digest(adopt(folder, steps=None)) != before


def test_a_folder_that_cannot_be_written_and_gzipped_files_are_read(tutorial, adopt, tmp_path):
    folder = tutorial("incompressible/icoFoam/cavity/cavity")
    for name in ("system/controlDict", "system/fvSolution", "0/U"):
        file = folder / name
        (folder / f"{name}.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    for path in folder.rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    case = adopt(folder, run_here=False)
    files = application("openfoam").inputs(case)
    assert case.settings["mesh"] == ["blockMesh"] and case.settings["as_is"]["fields"] == ["U", "p"]
    assert b"endTime 0.25;" in files["system/controlDict"]
    assert "system/controlDict.gz" not in files and "0/U.gz" in files


def test_a_dictionary_that_is_newer_than_the_mesh_gets_a_remark(tutorial, adopt, capsys):
    """Runs use the mesh of the folder, although the user may have edited its dictionary."""
    folder = tutorial("incompressible/icoFoam/cavity/cavity")
    dictionary, owner = folder / "system/blockMeshDict", folder / "constant/polyMesh/owner"
    owner.parent.mkdir()
    owner.write_text('note "nPoints: 882 nCells: 400 nFaces: 1640";\n')
    remark = (
        "runs use the mesh in constant/polyMesh, which is older than system/blockMeshDict (blockMesh would "
        "make it again)"
    )
    made = dictionary.stat().st_mtime
    for seconds_later, remarked in ((-3600, False), (3, False), (3600, True)):
        os.utime(owner, (made, made - seconds_later))
        case = adopt(folder, run_here=False)
        assert (f"case cavity: {remark}\n" in capsys.readouterr().err) == remarked
        assert (f"R{remark[1:]}." in case.description) == remarked
    assert case.settings["mesh"] == [] and "(400 cells)" in case.description


def test_links_are_followed_or_refused_by_name(tutorial, adopt, tmp_path):
    folder = tutorial("incompressible/icoFoam/cavity/cavity")
    (folder / "0").rename(tmp_path / "fields")
    (folder / "0").symlink_to(tmp_path / "fields")
    assert (adopt(folder, run_here=False).folder / "0/U").read_bytes() == (tmp_path / "fields/U").read_bytes()
    (folder / "constant/lost").symlink_to("nowhere")
    line = refusal(InputError, adopt, folder, run_here=False)
    assert line == f"mine.yaml: cases: path: {folder}: constant/lost: the link leads nowhere"
    (folder / "constant/lost").unlink()
    (folder / "constant/loop").symlink_to(folder)
    line = refusal(InputError, adopt, folder, run_here=False)
    assert (
        line == f"mine.yaml: cases: path: {folder}: constant/loop: the link leads to a folder that holds it"
    )


def edit(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("spoil", "line"),
    [
        (lambda folder: (folder / "system/blockMeshDict").unlink(), "no mesh in constant/polyMesh and no "),
        (lambda folder: shutil.rmtree(folder / "0"), "no fields in 0 or 0.orig"),
        (lambda folder: (folder / "constant/regionProperties").write_text(""), "has several regions"),
        (lambda folder: shutil.rmtree(folder / "system"), "is none of the inputs that run as they are"),
        (lambda folder: (folder / "system/controlDict").write_text("deltaT 1;"), "application: missing"),
        (
            lambda folder: (folder / "system/controlDict").write_text("application icoFoam; deltaT x;"),
            "deltaT: 'x' is not a number",
        ),
        (lambda folder: (folder / "system/fvSolution").unlink(), "system/fvSolution: missing"),
        (
            lambda folder: edit(folder / "system/controlDict", "0.5;", "abc;"),
            "system/controlDict: endTime: 'abc' is not a number",
        ),
        (
            lambda folder: edit(folder / "system/controlDict", "0.005;", "-1;"),
            "system/controlDict: deltaT: -1 is too small; must be above 0",
        ),
        (
            lambda folder: edit(folder / "system/controlDict", "endTime         0.5;", "endTime 0.5"),
            "system/controlDict: endTime: a semicolon is missing at its end",
        ),
        (
            lambda folder: edit(folder / "system/controlDict", "deltaT          0.005;", "deltaT 0.005"),
            "system/controlDict: deltaT: a semicolon is missing at its end",
        ),
        (
            lambda folder: edit(folder / "system/controlDict", "deltaT          0.005;", ""),
            "system/controlDict: deltaT: missing",
        ),
        (
            lambda folder: edit(folder / "system/controlDict", "{", ""),
            "system/controlDict: 0 opening and 1 closing braces; one is missing",
        ),
    ],
)
def test_a_case_that_cannot_run_is_refused_in_one_line(tutorial, adopt, spoil, line):
    folder = tutorial("incompressible/icoFoam/cavity/cavity")
    spoil(folder)
    assert line in refusal(InputError, adopt, folder, run_here=False)


def test_an_end_time_without_steps_needs_a_number_of_steps(tutorial, adopt):
    folder = tutorial("incompressible/icoFoam/cavity/cavity")
    edit(folder / "system/controlDict", "0.5;", "0;")
    line = refusal(InputError, adopt, folder, steps=None, run_here=False)
    assert (
        "states no number of steps, or too few to be timed (endTime and deltaT in system/controlDict); state it "
        "with --steps"
    ) in line
    adopt(folder, run_here=False)


def test_a_solver_that_is_not_installed_is_named_before_the_mesh_is_made(tutorial, adopt):
    folder = tutorial("incompressible/icoFoam/cavity/cavity")
    edit(folder / "system/controlDict", "icoFoam;", "icoFaom;")
    line = refusal(InputError, adopt, folder, run_here=True)
    assert line.endswith("system/controlDict: application: 'icoFaom' is not installed here")


class TestMissingSurface:
    """A dictionary of the mesh names a surface that the folder may lack."""

    @pytest.fixture
    def motor_bike(self, tutorial):
        return tutorial("incompressible/simpleFoam/motorBike")

    def test_it_is_refused_before_the_mesh_is_made(self, motor_bike, adopt):
        where = "no such file in constant/triSurface or constant/geometry"
        line = (
            f"mine.yaml: cases: path: {motor_bike}: system/surfaceFeatureExtractDict: motorBike.obj: {where}"
        )
        assert refusal(InputError, adopt, motor_bike, run_here=False) == line
        (motor_bike / "system/surfaceFeatureExtractDict").unlink()
        line = f"mine.yaml: cases: path: {motor_bike}: system/snappyHexMeshDict: motorBike.obj: {where}"
        assert refusal(InputError, adopt, motor_bike, run_here=False) == line

    @pytest.mark.parametrize(
        "place", ["constant/triSurface/motorBike.obj.gz", "constant/geometry/motorBike.obj"]
    )
    def test_it_is_found_gzipped_and_in_the_folder_of_the_foundation(self, motor_bike, adopt, place):
        (motor_bike / "constant/geometry").mkdir()
        (motor_bike / place).touch()
        assert "snappyHexMesh -overwrite" in adopt(motor_bike, run_here=False).settings["mesh"]

    def test_a_script_that_runs_may_copy_it(self, motor_bike, adopt):
        (motor_bike / "Allrun.pre").write_text("cp ../motorBike.obj constant/triSurface\n")
        line = refusal(InputError, adopt, motor_bike, run_here=False)
        assert line.endswith(" (Allrun.pre is there and may copy it; --run-scripts runs it)")
        adopt(motor_bike, run_scripts=True, run_here=False)

    @pytest.mark.parametrize(
        "text",
        [
            'geometry { a.obj { type triSurfaceMesh; } } #include "lost"',
            "#ifeq $x 1\ngeometry { a.obj { type triSurfaceMesh; } }\n#endif",
            'geometry { box { type searchableBox; } a { type triSurfaceMesh; file "$SURFACES/a.obj"; } }',
            'geometry { a { type triSurfaceMesh; file "system/controlDict.obj"; } }',
            "geometry ( a.obj );",
            "",
        ],
    )
    def test_an_uncertain_name_is_no_reason_to_refuse(self, motor_bike, adopt, text):
        (motor_bike / "system/surfaceFeatureExtractDict").unlink()
        (motor_bike / "system/snappyHexMeshDict.gz").unlink()
        (motor_bike / "system/snappyHexMeshDict").write_text(text)
        (motor_bike / "system/controlDict.obj").touch()
        adopt(motor_bike, run_here=False)


def test_a_study_names_paths_among_its_cases(tmp_path):
    file = tmp_path / "mine.yaml"
    rest = "interconnects: [shared_memory]\nprocesses: [1, 2]\n"
    file.write_text(f"name: mine\ncases: [cavity, {{path: run/motorBike-v2, steps: 7}}]\n{rest}")
    study = read_study(file)
    assert study.cases == ("cavity", "motorBike-v2")
    existing = study.existing["motorBike-v2"]
    assert (existing.path, existing.steps) == (tmp_path / "run/motorBike-v2", 7)
    file.write_text(f"name: mine\ncases: [{{path: a/x}}, {{path: b/x}}]\n{rest}")
    assert "'x' is there twice" in refusal(InputError, read_study, file)
    file.write_text(f"name: mine\ncases: [{{path: a b}}]\n{rest}")
    assert "'a b' cannot name a case" in refusal(InputError, read_study, file)


@pytest.mark.slow
@pytest.mark.alone
def test_one_command_times_a_tutorial_and_its_folder_stays(tutorial, tmp_path):
    folder, place = tutorial("incompressible/icoFoam/cavity/cavity"), tmp_path / "place"
    place.mkdir()
    before = state_of(folder)
    options = ["--processes", "1,2", "--config", "blocks=1", "limits={idle_seconds: 1}"]
    printed(ROOT / "run-study", "--case", folder, *options, cwd=place, timeout=300)
    assert state_of(folder) == before
    runs = pd.read_csv(place / "results/cavity/runs.csv")
    assert set(runs["case"]) == {"cavity"} and set(runs["processes"]) == {1, 2}
    sound_runs(runs)
    report = (place / "results/cavity/report.html").read_text()
    assert (
        "SIMPLE" not in report and "endTime 0.5 is replaced: each run ends after the stated steps" in report
    )


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        (["--case", "nothing"], "--case nothing: no such file or folder"),
        (["--case", "."], "--case .: path: {here}: the results would go into this folder"),
        (
            ["--case", "a b"],
            "--case a b: 'a b' cannot name a case; give another with --name: letters, digits and _ . + -",
        ),
        (["--case", "cavity", "--time", "x"], "--time: belongs to --command"),
        (
            ["--case", "cavity", "--processes", "two"],
            "--processes: 'two' is not a whole number from 1 on, as in 1,2,4",
        ),
        (
            ["--case", "cavity", "--steps", "2"],
            "--steps: '2' is not a whole number from 3 on",
        ),
        (["--steps", "5"], "--steps: belongs to --case"),
        (["--case", "cavity", "--profile", "cluster"], "--case: measures on this machine, without --profile"),
        (["--command", "date", "--profile", "cluster/pbs"], "--command: measures on this machine, without"),
    ],
)
def test_one_line_for_a_case_that_cannot_be_timed(tmp_path, monkeypatch, typed, line):
    (tmp_path / "cavity/system").mkdir(parents=True)
    (tmp_path / "cavity/system/controlDict").touch()
    monkeypatch.chdir(tmp_path)
    assert refusal(InputError, main, typed).startswith(line.format(here=tmp_path))


def test_the_results_of_another_folder_stay(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for parent in ("a", "b"):
        (tmp_path / parent / "cavity/system").mkdir(parents=True)
        (tmp_path / parent / "cavity/system/controlDict").touch()
    file = write_study(case_study("a/cavity", "1,4", 5, True, tmp_path))
    study = read_study(file)
    assert study.existing["cavity"].path == tmp_path / "a/cavity"
    assert (study.existing["cavity"].steps, study.existing["cavity"].run_scripts) == (5, True)
    assert write_study(case_study("a/cavity", None, None, False, tmp_path)) == file
    line = refusal(InputError, case_study, "b/cavity", None, None, False, tmp_path)
    assert line == "--case b/cavity: results/cavity holds another study; give this case a name with --name"
    other = read_study(write_study(case_study("b/cavity", None, None, False, tmp_path, "cavity-b")))
    assert (other.name, other.cases) == ("cavity_b", ("cavity-b",))


def test_a_refused_case_leaves_nothing_and_names_the_folder_inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run/cavity/system").mkdir(parents=True)
    (tmp_path / "run/cavity/system/controlDict").touch()
    line = refusal(InputError, main, ["--case", "run", "-n"])
    assert f", did you mean '{tmp_path}/run/cavity'?: " in line
    refusal(InputError, main, ["--case", "run/cavity", "--proceses", "1"])
    assert not (tmp_path / "results").exists()


def test_a_dry_run_changes_no_study(tutorial, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tutorial("incompressible/icoFoam/cavity/cavity")
    write_study(case_study(str(folder), "1", 5, False, tmp_path))
    for processes in ("1,2", "1"):
        before = state_of(tmp_path / "results")
        typed = ["--case", folder, "--steps", "5", "--processes", processes, "--dry-run"]
        printed(ROOT / "run-study", *typed, cwd=tmp_path, timeout=200)
        assert state_of(tmp_path / "results") == before


def test_a_command_with_other_options_prints_what_it_replaces(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run/cavity/system").mkdir(parents=True)
    (tmp_path / "run/cavity/system/controlDict").touch()
    monkeypatch.setattr(command, "args_to_api", lambda parsed, _: None)
    lines = []
    for options in (["--steps", "5"], [], ["--steps", "6"]):
        with pytest.raises(SystemExit):
            main(["--case", "run/cavity", "--processes", "1", *options])
        lines.append([line for line in capsys.readouterr().err.splitlines() if "replaced" in line])
    assert lines == [[], [], ["results/cavity/study.yaml: replaced; it stated no steps"]]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--config", "blocks=-2"], "--config: blocks: -2 is too small; at least 1"),
        (["--config", "block=2"], "--config: block: unknown key, did you mean 'blocks'?"),
        (
            ["--again", "cavty"],
            "results/cavity/study.yaml: again cavty: no case 'cavty', did you mean 'cavity'?",
        ),
    ],
)
def test_a_refused_command_changes_no_study(tutorial, tmp_path, monkeypatch, options, line):
    monkeypatch.chdir(tmp_path)
    folder = str(tutorial("incompressible/icoFoam/cavity/cavity"))
    write_study(case_study(folder, "1", 5, False, tmp_path))
    before = state_of(tmp_path / "results")
    assert refusal(InputError, main, ["--case", folder, "--steps", "9", *options]).startswith(line)
    assert state_of(tmp_path / "results") == before


class TestDictionary:
    def test_later_entries_win_sections_merge_and_names_are_replaced(self, tmp_path):
        (tmp_path / "system").mkdir()
        (tmp_path / "system/more").write_text("b { y 3; }\n")
        (tmp_path / "system/x").write_text(
            'a 1; // one\nb { x $a; z "p;q"; }\n#include "more"\n/* a 5; */ a 2;\nc ( 1 { d 2; } );\n'
            'functions { #includeFunc mag(U)\n probes { type probes; } }\n#calc "1;"\n'
        )
        entries = read(tmp_path, "system/x")
        assert entries["a"] == "2" and entries["b"] == {"x": "1", "z": '"p;q"', "y": "3"}
        assert entries["c"] == "( 1 { d 2 ; } )"
        assert entries["functions"] == {"probes": {"type": "probes"}}
        assert read(tmp_path, "system/missing") == {}

    def test_a_missing_file_is_named(self, tmp_path):
        (tmp_path / "x").write_text('#include "more"\n')
        assert "includes more: no such file" in refusal(InputError, read, tmp_path, "x")
        (tmp_path / "x").write_text('#includeIfPresent "more"\na 1;\n')
        assert read(tmp_path, "x") == {"a": "1"}
