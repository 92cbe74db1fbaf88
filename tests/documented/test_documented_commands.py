"""The commands that the pages of Start and How-to show end as the pages state.

Each page is typed from its first console block to its last in a home of its own, in which ~/nodeworth holds the
project. Studies that a page shows are there as files, made small. A comment before a block chooses another way:

    <!-- commands: long -->      only ./run-tests docs types it
    <!-- commands: cluster -->   only ./run-tests docs types it, on a small Slurm, if the page is in `ON_SLURM`
    <!-- commands: none -->      nobody types it: it holds a placeholder, or needs what no test has
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.slurm.small_slurm import small_slurm
from workflows.paths import CASES, ROOT

ON_SLURM = ("tutorial-cluster.md",)
EXAMPLES = "/usr/share/doc/openfoam-examples/examples"
FILES = ROOT / "tests/importers/files"
MAPPING = """
case: {from: [test, size]}
seconds: {from: solving_time, unit: s}
kind: {value: measured}
"""
LOG = "Loop time of 10.5 on 4 procs for 100 steps with 4000 atoms\nTotal wall time: 0:00:11\n"
RUNS = "case,interconnect,processes,seconds\nwing,ib,64,12.8\nwing,ib,128,7.0\n"
STUDY = "name: mine\ncases: [cavity-smoke]\ninterconnects: [shared_memory]\nprocesses: [1, 2]\nblocks: 1\n"
INPUTS = {
    "find-interconnects.md": {"~/mine.yaml": STUDY},
    "compare.md": {"config/studies/mine.yaml": STUDY},
    "import.md": {
        "theirs.csv": RUNS,
        "times.csv": RUNS,
        "osu.txt": FILES / "osu/latency_7.4.txt",
        "report.json": FILES / "reframe/report_failures_4.10.json",
        "mapping.yaml": MAPPING,
    },
    "import-logs.md": {"runs/efa/size2/results/melt-1.out": LOG},
    "models.md": {
        "~/scaling/osu_latency.txt": FILES / "osu/latency_7.4.txt",
        "~/scaling/osu_bw.txt": FILES / "osu/bw_7.4.txt",
        "~/scaling/osu_bibw.txt": FILES / "osu/bibw_7.4.txt",
        "~/scaling/pitzDaily": f"{EXAMPLES}/incompressible/simpleFoam/pitzDaily",
    },
}
"""Files that a page takes for granted: a text, or a file or folder to copy."""


@dataclass(frozen=True)
class Block:
    """Commands of a console block, and its mark."""

    mark: str
    commands: tuple[str, ...]


def pages():
    """Pages of Start and How-to, in the order of the menu."""
    menu = re.search(
        r"^  - Start:\n(.*?)^  - Troubleshooting", (ROOT / "mkdocs.yml").read_text(), re.M | re.S
    )
    return re.findall(r"([\w-]+\.md)$", menu[1], re.M)


def blocks(page):
    """Console blocks of a page; a line that ends in a backslash goes on in the next line."""
    text = (ROOT / "docs" / page).read_text()
    found = re.finditer(r"(?:<!-- commands: (\w+) -->\n)?^```console\n(.*?)^```", text, re.M | re.S)
    for block in found:
        commands = re.findall(r"^\$ ((?:.*\\\n)*.*)$", block[2], re.M)
        yield Block(block[1] or "", tuple(commands))


def typed(page, *marks):
    return [command for block in blocks(page) if block.mark in marks for command in block.commands]


SHORT = [page for page in pages() if typed(page, "")]
LONG = [page for page in pages() if typed(page, "long")]


@pytest.fixture
def home(tmp_path, request):
    """A home with the project, the small studies of the page, and its inputs."""
    page = request.node.callspec.params["page"]
    project = tmp_path / "nodeworth"
    (tmp_path / "scaling").mkdir()
    project.mkdir()
    for entry in ROOT.iterdir():
        if entry.name in ("config", "cluster"):
            shutil.copytree(entry, project / entry.name)
        elif entry.name not in ("results", ".git", ".snakemake", ".pytest_cache"):
            (project / entry.name).symlink_to(entry)
    for example in re.findall(r"^```yaml\n(.*?)^```", (ROOT / "docs" / page).read_text(), re.M | re.S):
        study = yaml.safe_load(example)
        if "name" in study and {"cases", "import"} & study.keys():
            for folder in (project, project / "config/studies", tmp_path / "scaling"):
                (folder / f"{study['name']}.yaml").write_text(yaml.safe_dump(small(study)))
    for name, content in INPUTS.get(page, {}).items():
        place = tmp_path / name[2:] if name.startswith("~/") else project / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str) and not content.startswith("/"):
            place.write_text(content)
        else:
            (shutil.copytree if Path(content).is_dir() else shutil.copy)(content, place)
    return tmp_path


def small(study):
    """A study of one block, two processes and the smallest size of each case."""
    if "import" in study:
        return study
    study = study | {"blocks": 1, "processes": [1, 2], "limits": {"idle_seconds": 0}}
    smallest = [smoke(case) for case in study["cases"]]
    return study | {"cases": [case for place, case in enumerate(smallest) if case not in smallest[:place]]}


def smoke(case):
    name = case.partition("-")[0] if isinstance(case, str) else ""
    return f"{name}-smoke" if any(CASES.glob(f"*/{name}")) and name else case


def type_in(home, commands, inside=lambda command: command):
    environment = os.environ | {"HOME": str(home), "NO_COLOR": "1"}
    script = "\n".join(["set -ex", f"export HOME={home}", f"cd {home}/nodeworth", *commands])
    done = subprocess.run(
        inside(["bash", "-c", script]),
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"


def test_the_pages_have_commands():
    assert len(SHORT) > 5 and {mark for page in pages() for mark in (b.mark for b in blocks(page))} <= {
        "",
        "long",
        "cluster",
        "none",
    }


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("page", SHORT)
def test_the_commands_of_a_page(page, home):
    type_in(home, typed(page, ""))


@pytest.mark.slow
@pytest.mark.docs
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("page", LONG)
def test_the_long_commands_of_a_page(page, home):
    type_in(home, typed(page, "", "long"))


@pytest.mark.slow
@pytest.mark.docs
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("page", ON_SLURM)
def test_the_commands_of_a_page_on_a_small_slurm(page, home):
    with small_slurm(nodes=2) as slurm:
        type_in(home, typed(page, "", "cluster"), slurm.on_head)
