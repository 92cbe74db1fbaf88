"""A batch in a job of its own, as far as that needs no scheduler."""

import pytest

from workflows.domain import InputError
from workflows.measure import batch


def test_what_was_prepared_on_another_node_is_waited_for(tmp_path, monkeypatch):
    mesh = tmp_path / "mesh"
    monkeypatch.setattr(batch.time, "sleep", lambda _: mesh.mkdir())
    batch._wait_for([mesh], 60)
    with pytest.raises(InputError, match=r"lost: is not there after 0 s \(--latency-wait\)"):
        batch._wait_for([mesh, tmp_path / "lost"], 0)


def test_a_job_whose_study_has_changed_since_it_was_submitted_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(batch, "make_plan", lambda *given: None)
    monkeypatch.setattr(batch, "batches", lambda plan: {})
    with pytest.raises(InputError, match=r"study\.yaml: has no batch duct-8 any more"):
        batch.measure_in_job(tmp_path / "study.yaml", {}, "duct-8")
