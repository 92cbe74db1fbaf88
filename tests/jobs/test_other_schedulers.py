"""PBS, LSF, SGE and Flux, each played by programs that record their calls and run the job here."""

import json
import os
import re
import sys

import pytest
from disturbed import disturbed, went_through
from programs import ran, write_program

from workflows.domain import InputError, Point
from workflows.jobs import SCHEDULERS
from workflows.jobs.cluster import read_cluster
from workflows.launch.cluster_launch import JobNode
from workflows.launch.launch import launch_ranks
from workflows.paths import ROOT

STUDY = f"""
name: elsewhere
cases_folder: {ROOT / "tests/cases"}
cases: [faulty]
interconnects: [shared_memory]
processes: [1, 2]
blocks: 1
limits: {{run_seconds: 40, idle_seconds: 0}}
"""
SITE = "scheduler: {}\nlauncher: mpirun\nnodes: 1\ncores_per_node: 2\nmemory_per_node_MB: 4000\n"
# Takes the options of a submission and the job's script, runs the script, and says which job that was.
SUBMIT = """#!/bin/sh
printf '%s\\n' "$*" >>"$PLAYED/submitted"
for script; do :; done
number=$(grep -c '' "$PLAYED/submitted")
{hosts} >"$PLAYED/hosts-$number"
touch "$PLAYED/known-$number"
( {variables} "$script" </dev/null >/dev/null 2>&1; rm "$PLAYED/known-$number" ) >/dev/null 2>&1 &
echo {answer}
"""
KNOWN = """#!/bin/sh
for number; do :; done
test -e "$PLAYED/known-${{number%%.*}}" && echo {there} || {{ echo {gone}; exit 1; }}
"""
HERE = "hostname; hostname"
PLAYS = {
    "pbs": {
        "qsub": SUBMIT.format(
            hosts=f"({HERE})",
            variables='PBS_O_WORKDIR=$PWD PBS_JOBID=$number.server PBS_NODEFILE="$PLAYED/hosts-$number"',
            answer="$number.server",
        ),
        "qstat": KNOWN.format(there="R", gone="'qstat: Unknown Job Id'"),
    },
    "sge": {
        "qsub": SUBMIT.format(
            hosts="echo $(hostname) 2 all.q UNDEFINED",
            variables='SGE_O_WORKDIR=$PWD JOB_ID=$number PE_HOSTFILE="$PLAYED/hosts-$number"',
            answer="$number",
        ),
        "qstat": """#!/bin/sh
test "$1" = -f && exit
for file in "$PLAYED"/known-*; do
    test -e "$file" && echo "${file##*-} 0.5 nodeworth me r 11/23/2026 13:42:05 all.q@n1 2"
done
exit 0
""",
        "qacct": "#!/bin/sh\necho failed 100 : assumedly after job\n",
    },
    "lsf": {
        "bsub": SUBMIT.format(
            hosts=f"({HERE})",
            variables='LSB_JOBID=$number LSB_DJOB_HOSTFILE="$PLAYED/hosts-$number"',
            answer="'Job <'$number'> is submitted to default queue <normal>.'",
        ),
        "bjobs": KNOWN.format(there="RUN", gone="DONE"),
    },
    "flux": {"flux": "#!/bin/sh\necho RUN\n"},
}
THROUGH_GENERIC = ["pbs", "sge", "lsf"]
FLUX = """
import json, os, subprocess, types
played = os.environ["PLAYED"]
class JobspecV1:
    @classmethod
    def from_command(cls, command):
        self = cls()
        self.command = command
        return self
class FluxExecutor:
    def submit(self, spec):
        with open(f"{played}/submitted", "a") as file:
            file.write(json.dumps({"duration": spec.duration, "cores": spec.cpus_per_task, "cwd": spec.cwd}) + "\\n")
        running = subprocess.Popen(spec.command, cwd=spec.cwd, env=spec.environment | {"FLUX_JOB_ID": "f12"})
        return types.SimpleNamespace(
            jobid=lambda: 12, done=lambda: running.poll() is not None, result=lambda _: running.returncode)
"""


def on_path(played):
    return {"PATH": f"{played}:{os.environ['PATH']}", "PLAYED": str(played)}


def play(scheduler, tmp_path):
    """Run a small study under a scheduler that is played; give what was submitted and the records."""
    played = tmp_path / "bin"
    played.mkdir()
    for name, text in PLAYS[scheduler].items():
        write_program(played / name, text)
    bindings = tmp_path / "bindings/flux"
    bindings.mkdir(parents=True)
    (bindings / "__init__.py").write_text("")
    (bindings / "job.py").write_text(FLUX)
    (tmp_path / "study.yaml").write_text(STUDY)
    (tmp_path / "site.yaml").write_text(SITE.format(scheduler))
    command = [sys.executable, "-m", "snakemake", "--profile", str(ROOT / "cluster" / scheduler)]
    command += ["--seconds-between-status-checks", "1", "--latency-wait", "5"]
    command += ["--directory", str(tmp_path), "--snakefile", str(ROOT / "Snakefile")]
    command += ["--configfile", str(tmp_path / "study.yaml")]
    command += ["--config", f"cluster={tmp_path / 'site.yaml'}", "--", "results/elsewhere/runs.csv"]
    done = ran(*command, timeout=500, **on_path(played), PYTHONPATH=str(bindings.parent))
    assert went_through(done.returncode, done.stderr), done.stderr
    files = sorted((tmp_path / "results/elsewhere/records").rglob("*.json"))
    return (played / "submitted").read_text().splitlines(), [json.loads(file.read_text()) for file in files]


# Preparing and the reference answer in one job, then the serial run and that on two cores: 10 MB of data and 60 MB
# a rank beside 600 MB, and the 3 minutes of a run of at most 40 s.
ASKED = {
    "pbs": ["-l select=1:ncpus={0}:mpiprocs={0}:mem={1}mb -l place=scatter:excl -l walltime=3:00"],
    "sge": ["-terse", "-pe mpi {0} -l h_rt=0:3:00"],
    "lsf": ["-n {0} -R span[ptile={0}] -R rusage[mem={1}] -W 3"],
}


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", THROUGH_GENERIC)
def test_jobs_request_the_resources_of_the_design(scheduler, tmp_path):
    submitted, records = play(scheduler, tmp_path)
    assert len(submitted) == 3
    for cores, memory in ((1, 675), (2, 735)):
        (line,) = [
            submission
            for submission in submitted[1:]
            if ASKED[scheduler][-1].format(cores, memory) in submission
        ]
        assert all(part.format(cores, memory) in line for part in ASKED[scheduler])
    assert all(record["reason"] is None or disturbed(record["reason"]) for record in records)
    assert len({record["cluster"]["job"] for record in records}) == 2
    assert {record["command"][0] for record in records} == {"mpirun"}


@pytest.mark.slow
def test_flux_is_asked_for_cores_and_seconds(tmp_path):
    submitted, records = play("flux", tmp_path)
    requests = [json.loads(line) for line in submitted]
    assert sorted((request["cores"], request["duration"]) for request in requests[1:]) == [(1, 180), (2, 180)]
    assert all(record["reason"] is None or disturbed(record["reason"]) for record in records)
    assert {record["cluster"]["job"] for record in records} == {"f12"}


def status(scheduler, number, folder, played):
    """Ask cluster/status.sh."""
    return ran(ROOT / "cluster/status.sh", scheduler, number, cwd=folder, **on_path(played)).stdout.strip()


@pytest.mark.parametrize("scheduler", THROUGH_GENERIC)
def test_a_job_that_vanishes_has_failed(scheduler, tmp_path):
    for name, text in PLAYS[scheduler].items():
        write_program(tmp_path / name, text)
    (tmp_path / "known-7").touch()
    assert status(scheduler, "7", tmp_path, tmp_path) == "running"
    (tmp_path / "known-7").unlink()
    assert status(scheduler, "7", tmp_path, tmp_path) == "failed"
    logs = tmp_path / ".snakemake/cluster_logs"
    logs.mkdir(parents=True, exist_ok=True)
    for exit_status, state in (("0", "success"), ("1", "failed")):
        (logs / "7.status").write_text(f"{exit_status}\n")
        assert status(scheduler, "7", tmp_path, tmp_path) == state


@pytest.mark.parametrize(
    ("name", "variable", "lines"),
    [
        ("pbs", "PBS_NODEFILE", "n1\nn1\nn2\nn2\n"),
        ("lsf", "LSB_DJOB_HOSTFILE", "n1\nn2\n"),
        ("sge", "PE_HOSTFILE", "n1 2 all.q@n1 UNDEFINED\nn2 2 all.q@n2 UNDEFINED\n"),
    ],
)
def test_the_nodes_of_a_job(name, variable, lines, tmp_path, monkeypatch):
    scheduler = SCHEDULERS[name]
    monkeypatch.delenv(scheduler.job_variable, raising=False)
    assert scheduler.this_job() is None
    monkeypatch.setenv(scheduler.job_variable, "7")
    (tmp_path / "hosts").write_text(lines)
    monkeypatch.setenv(variable, str(tmp_path / "hosts"))
    job = scheduler.this_job()
    assert (job.number, scheduler.hosts(job.node_list), job.is_over) == ("7", ("n1", "n2"), False)


@pytest.fixture
def answering(tmp_path, monkeypatch):
    """Let a program print something and end with a status."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    def make(program, answer, exit_status=0):
        (tmp_path / f"{program}.said").write_text(answer)
        write_program(tmp_path / program, f"#!/bin/sh\ncat {tmp_path}/{program}.said\nexit {exit_status}\n")

    return make


@pytest.mark.parametrize(
    ("name", "program", "status", "answer", "over"),
    [
        ("pbs", "qstat", 0, "7.server  nodeworth  me  00:00:01 R batch", False),
        ("pbs", "qstat", 153, "qstat: Unknown Job Id 7.server", True),
        ("pbs", "qstat", 35, "qstat: 7.server Job has finished, use -x or -H to obtain information", True),
        ("lsf", "bjobs", 0, "RUN", False),
        ("lsf", "bjobs", 0, "EXIT", True),
        ("flux", "flux", 0, "RUN", False),
        ("flux", "flux", 0, "INACTIVE", True),
    ],
)
def test_the_scheduler_decides_when_a_job_is_over(name, program, status, answer, over, answering):
    answering(program, answer, status)
    assert SCHEDULERS[name].job("7.server").is_over is over


@pytest.mark.parametrize(("name", "program"), [("pbs", "qstat"), ("sge", "qstat")])
def test_a_scheduler_that_is_away_does_not_end_a_job(name, program, answering, tmp_path):
    answering(program, "Connection refused\nqstat: cannot connect to server", 255)
    with pytest.raises(InputError, match=rf"^{name}: Connection refused qstat: cannot connect"):
        SCHEDULERS[name].job("7.server")
    assert status(name, "7.server", tmp_path, tmp_path) == "running"


# What Grid Engine 8.1.9 printed on a small cell.
LISTED = """job-ID  prior   name       user         state submit/start at     queue                          slots ja-task-ID
-----------------------------------------------------------------------------------------------------------------
      7 0.50000 nodeworth  root         {state:5} 11/23/2026 13:42:16 {queue:30}     2
"""
ENDED = """qname        all.q
hostname     emulated-node1
start_time   Mon Nov 23 13:42:41 2026
end_time     Mon Nov 23 13:43:23 2026
failed       {failed}
exit_status  {status}
ru_wallclock {took}s
category     -l exclusive=true,h_rt=60 -pe mpi 2
"""
KILLED = "137                  (Killed)"


@pytest.mark.parametrize(
    ("state", "queue", "expected"),
    [
        ("r", "all.q@emulated-node1", "RUNNING"),
        ("t", "all.q@emulated-node1", "RUNNING"),
        ("dr", "all.q@emulated-node1", "COMPLETING"),
        ("qw", "", "RUNNING"),
        ("hqw", "", "RUNNING"),
        ("Eqw", "", "FAILED"),
    ],
)
def test_a_job_that_grid_engine_lists(state, queue, expected, answering, tmp_path):
    """``qstat -j`` gives the reason of an error, ``qstat -f -qs u`` a host that is not heard of: here none."""
    answering("listed", LISTED.format(state=state, queue=queue))
    write_program(
        tmp_path / "qstat",
        "#!/bin/sh\ncase $1 in -u) listed ;; -j) echo 'error reason 1: no such folder' ;; esac\n",
    )
    assert SCHEDULERS["sge"].job("7").state == expected


@pytest.mark.parametrize(
    ("failed", "exit_status", "took", "expected"),
    [
        ("0", "0", 42, "COMPLETED"),
        ("0", "3", 1, "FAILED"),
        ("37  : qmaster enforced h_rt, h_cpu, or h_vmem limit", KILLED, 3, "TIMEOUT"),
        ("37  : qmaster enforced h_rt, h_cpu, or h_vmem limit", "0", 3, "TIMEOUT"),  # it was trapped
        ("100 : assumedly after job", KILLED, 3, "CANCELLED"),
        ("100 : assumedly after job", KILLED, 59, "TIMEOUT"),  # another node was the first to end its tasks
        ("26  : opening input/output file", "0", 0, "FAILED"),
        ("0", "0", 0, "NODE_FAIL"),  # was deleted by force after 42 s, its host being gone
    ],
)
def test_a_job_that_grid_engine_has_in_its_accounts(failed, exit_status, took, expected, answering):
    answering("qstat", "")
    answering("qacct", ENDED.format(failed=failed, status=exit_status, took=took))
    assert SCHEDULERS["sge"].job("7").state == expected


@pytest.mark.parametrize(
    ("site", "message"),
    [
        (
            "scheduler: pbs\n",
            "launcher: srun is not for scheduler pbs; with it: the launcher of an MPI library",
        ),
        ("scheduler: lsf\nlauncher: hydra\nnodes: 2\n", "cores_per_node, memory_per_node_MB: must be given"),
        (
            f"{SITE.format('sge')}account: mine\n",
            "account: only for Slurm; .* are in cluster/sge/config.yaml",
        ),
        (SITE.format("flux").replace("nodes: 1", "nodes: 2"), "nodes: 2: a job of .* for Flux has one"),
    ],
)
def test_options_unknown_to_a_scheduler_are_refused(site, message, tmp_path):
    (tmp_path / "site.yaml").write_text(site)
    with pytest.raises(InputError, match=rf"^{re.escape(str(tmp_path))}/site.yaml: {message}"):
        read_cluster(tmp_path / "site.yaml")


@pytest.mark.parametrize("scheduler", ["pbs", "lsf", "sge", "flux"])
def test_the_site_files_that_are_there_can_be_read(scheduler):
    assert read_cluster(ROOT / "cluster" / scheduler / "site.yaml").scheduler.name == scheduler
    assert (ROOT / "cluster" / scheduler / "config.yaml").exists()


@pytest.mark.parametrize("launcher", ["mpirun", "hydra"])
def test_launchers_see_no_variables_of_slurm(launcher, tmp_path):
    nodes = [JobNode(name, launcher, "pmix", SCHEDULERS["pbs"]) for name in ("n1", "n2")]
    launch = launch_ranks(Point("case", None, 2, 1, 2, 2), None, nodes, ["solve"], {}, tmp_path)
    assert "n1:1,n2:1" in launch.argv and "slurm" not in launch.argv
    assert not [name for name in launch.env if name.startswith("SLURM_")]


def test_the_template_of_the_docs_is_a_scheduler(answering):
    page = (ROOT / "docs/extending/scheduler.md").read_text()
    (template,) = re.findall(r"```python\n(.*?)```", page, re.S)
    names = {"__name__": "mine"}
    exec(compile(template, "mine.py", "exec"), names)
    scheduler = names["Mine"]()
    for word, state in (("QUEUED", "RUNNING"), ("LIMIT", "TIMEOUT")):
        answering("mstat", f"{word}\n")
        assert scheduler.job("7").state == state
