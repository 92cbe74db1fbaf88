"""A batch in its own job, as far as it needs no scheduler."""

import pytest

from workflows.domain import InputError
from workflows.measure import measure


def test_a_job_refuses_a_study_that_changed_after_submission(monkeypatch, tmp_path):
    monkeypatch.setattr(measure, "make_plan", lambda *given: None)
    monkeypatch.setattr(measure, "batches", lambda plan: {})
    with pytest.raises(InputError, match=r"study\.yaml: no longer has the batch duct-8"):
        measure.measure_in_job(tmp_path / "study.yaml", {}, "duct-8")
