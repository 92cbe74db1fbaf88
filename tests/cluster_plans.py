"""A small study planned for a cluster of four nodes of two cores."""

from pathlib import Path

from study_files import study_file

from workflows.paths import ROOT
from workflows.plan.plan import Plan, make_plan

STUDY = f"""
name: cut
cases_folder: {ROOT / "tests/cases"}
cases: [faulty]
interconnects: [shared_memory, emulated_gigabit]
processes: [1, 2, 4]
oversubscription: [1]
blocks: 4
limits: {{run_seconds: 100, idle_seconds: 20}}
"""
SIMULATED = STUDY.replace("emulated_gigabit]", "emulated_gigabit, gigabit_ethernet]")
SITE = "nodes: 4\ncores_per_node: 2\nmemory_per_node_MB: 4000\njoined_by: emulated_gigabit\n"


def plan_on_cluster(folder: Path, site: str = "", study: str = STUDY, size: tuple[int, int] = (4, 2)) -> Plan:
    """Plan a study on that cluster; `site` is added to its file, which lies in `folder`.

    The cluster may have another `size`: its nodes and the cores per node.
    """
    nodes, cores = size
    described = SITE.replace("nodes: 4", f"nodes: {nodes}").replace("node: 2", f"node: {cores}")
    (folder / "site.yaml").write_text(described + site)
    return make_plan(study_file(folder, study), {"cluster": str(folder / "site.yaml")})
