"""What jobs printed is added up, and two studies make a line."""

from tests.benchmarks.large_study import Seen, on_the_line, seconds_of_jobs


def test_jobs_that_measure_and_others_are_told_apart(tmp_path):
    for rule, job, own in (
        ("rule_measure_batch", "a", 1),
        ("rule_measure_batch", "b", 2),
        ("group_prepare", "c", 4),
    ):
        log = tmp_path / f".snakemake/slurm_logs/{rule}/{job}/1.log"
        log.parent.mkdir(parents=True)
        log.write_text(f"Done.\n0m{own}.250s 0m0.250s\n1m0.250s 0m0.250s\n")
    ended = tmp_path / ".snakemake/slurm_logs/rule_measure_batch/d/2.log"
    ended.parent.mkdir()
    ended.write_text("slurmstepd: CANCELLED\n")
    measuring, others = seconds_of_jobs(tmp_path, "rule_measure_batch")
    assert sorted(measuring) == [62, 63] and others == [65]


def test_a_line_through_two_studies_goes_on():
    low, high = (
        Seen(8, 4, 1, 2.0, 4.0, 1.0, 1.0, 1e8, 100, 10),
        Seen(16, 8, 2, 3.0, 8.0, 2.0, 2.0, 1e8, 200, 20),
    )
    far = on_the_line(low, high, 32)
    assert far == (32, 16, 4, 5.0, 16.0, 4.0, 4.0, 1e8, 400, 40)
    # 5 + (16 - 4) + 4 s of 32 points of 2 blocks, 12 s of 16 jobs, 4 s of srun, 400 requests in 40 s
    row = far.row("jobs", 2).split("|")
    assert row[1:5] == ["32", "64", "jobs", "16 + 4"]
    assert row[8:15] == ["328.1 ms", "0.75 s", "62.5 ms", "100 MB", "6.2", "10.0", "40 s"]
