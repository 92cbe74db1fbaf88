"""Repeated iterations of conjugate gradients in a trace, and the count of pressure iterations."""

from tests.benchmarks import blind_predictions
from tests.benchmarks.blind_predictions import iterations_by_step, lengthened
from workflows.domain import Line


def test_whole_iterations_are_repeated_before_the_last_reductions(monkeypatch):
    monkeypatch.setattr(blind_predictions, "REPEATED_ITERATIONS", 1)
    monkeypatch.setattr(blind_predictions, "REDUCTIONS_AN_ITERATION", 2)
    monkeypatch.setattr(blind_predictions, "REDUCTIONS_BEHIND", 1)
    lines = [f"0 compute {step}\n0 allreduce 8 0\n" for step in range(5)]
    iteration, rest = "".join(lines[2:4]), lines[4]
    assert lengthened("".join(lines), 2) == "".join(lines[:2]) + 3 * iteration + rest
    assert lengthened("".join(lines), 0) == "".join(lines)


def test_both_solves_of_a_step_count():
    lines = [
        "Time = 0.1",
        "DICPCG:  Solving for p, Initial residual = 1, Final residual = 0, No Iterations 7",
    ]
    lines += [
        "GAMG:  Solving for p, Initial residual = 1, Final residual = 0, No Iterations 20",
        "Time = 0.2",
    ]
    assert iterations_by_step([Line(0.0, text) for text in lines]) == [27, 0]
