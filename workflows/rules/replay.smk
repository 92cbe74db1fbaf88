"""
Replays the traces of real runs on the study's simulated interconnects, and carries out patterns of traffic on
them, all in one job.

REQUIRED INPUTS:

    traces      = <results>/traces/{case}/processes-{processes}, all of the study's simulated points

OUTPUTS:

    simulated   = <results>/simulated: fit/{interconnect}.csv, how well each model repeats its ping-pong, and
                  {case}/{interconnect}/processes-{processes}.json, a record a point
"""


rule replay:
    """Replaying traces"""
    input:
        traces=plan.traces(),
    output:
        simulated=directory("<results>/simulated"),
    log:
        "<results>/logs/replay.log",
    conda:
        "../../envs/python.yaml"
    threads: workflow.cores
    params:
        study=str(plan.study.file),
        digest=plan.replay_digest,
        source=[
            source_digest(f"workflows/{package}")
            for package in ("simulation", "traffic")
        ],
    script:
        "../scripts/replay.py"
