"""A file system without space is named as the reason why a case cannot be prepared."""

import errno
from types import SimpleNamespace

import pytest
from refused import refusal

from workflows.domain import InputError
from workflows.measure import prepare as preparation
from workflows.paths import ROOT
from workflows.study.cases import load_case

FAILED = "case harmonic-smoke, 2 processes: cannot be prepared: "


@pytest.fixture
def fail_with(monkeypatch):
    """Let the preparation of every application end with an error."""

    def fail(error):
        def prepare(*_):
            raise error

        monkeypatch.setattr(preparation, "application", lambda _: SimpleNamespace(prepare=prepare))

    return fail


def prepare(folder):
    preparation.prepare(load_case("harmonic-smoke", ROOT / "tests/cases"), 2, folder)


@pytest.mark.parametrize(("free", "is_full"), [(0, True), (10**12, False)])
def test_a_program_that_fails_on_a_full_disk(tmp_path, monkeypatch, fail_with, free, is_full):
    fail_with(RuntimeError("blockMesh: exit status 1: no output"))
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=free))
    line = refusal(InputError, prepare, tmp_path)
    assert line.startswith(f"{FAILED}blockMesh: exit status 1: no output")
    assert line.endswith(f"; no space left in {tmp_path}") is is_full


def test_copying_on_a_full_disk(tmp_path, fail_with):
    fail_with(OSError(errno.ENOSPC, "No space left on device"))
    assert refusal(InputError, prepare, tmp_path) == f"{FAILED}no space left in {tmp_path}"


def test_other_errors_of_the_system_stay(tmp_path, fail_with):
    fail_with(OSError(errno.EROFS, "Read-only file system"))
    with pytest.raises(OSError, match="Read-only"):
        prepare(tmp_path)
