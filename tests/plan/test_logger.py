"""Output of a run of Snakemake on the terminal."""

import io
import logging
import os
from types import SimpleNamespace

import pytest
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_logger_plugin_nodeworth import LogHandler

from workflows.plan import machine

CHATTER = [("Select jobs to execute...", None), ("Execute 1 jobs...", None)]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def shown(monkeypatch):
    """Show messages, each a text and an event; give what the terminal has then."""

    def show(*messages, level=logging.INFO, stream=None, **settings):
        defaults = {"dryrun": False, "verbose": False, "debug_dag": False, "quiet": None, "stdout": False}
        handler = LogHandler(SimpleNamespace(**(defaults | settings)), None)
        handler.stream = stream or io.StringIO()
        for text, event in messages:
            extra = {} if event is None else {"event": event, "rule_msg": text}
            handler.emit(logging.makeLogRecord({"msg": text, "levelno": level} | extra))
        return handler.stream.getvalue() if isinstance(handler.stream, io.StringIO) else None

    return show


def test_jobs_are_shown_by_their_messages(shown):
    messages = [
        ("Meshing lid", LogEvent.JOB_INFO),
        ("Measuring", LogEvent.JOB_INFO),
        (None, LogEvent.JOB_INFO),
    ]
    assert shown(*messages) == "Meshing lid\nMeasuring\n"
    assert shown(*messages, stream=Terminal()) == "\r\033[KMeshing lid …\r\033[KMeasuring …"


def test_a_closed_pipe_ends_the_output_without_an_error(shown):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        shown(("Job stats", LogEvent.RUN_INFO), ("Reasons:", None), stream=pipe, verbose=True)


def test_output_of_snakemake_between_jobs_is_hidden(shown):
    before, begun = ("Building DAG of jobs...", None), ("Job stats", LogEvent.RUN_INFO)
    assert shown(before, begun, *CHATTER) == "Building DAG of jobs...\n"
    assert shown(before, ("Nothing to be done", None)).endswith("Nothing to be done\n")


def test_a_dry_run_counts_jobs_once_and_shows_nothing_else(shown):
    stats, job = ("Job stats", LogEvent.RUN_INFO), ("Meshing lid", LogEvent.JOB_INFO)
    assert shown(stats, job, stats, ("Reasons:", None), *CHATTER, dryrun=True) == "Job stats\n"


@pytest.mark.parametrize("settings", [{}, {"dryrun": True}])
def test_quiet_hides_all_but_problems(shown, settings):
    quiet = settings | {"quiet": {Quietness.ALL}}
    assert shown(*CHATTER, ("Measuring", LogEvent.JOB_INFO), **quiet) == ""
    assert shown(("disk full", LogEvent.ERROR), level=logging.ERROR, **quiet) == "disk full\n"


@pytest.mark.parametrize(
    ("ending", "is_shown"),
    [("returned non-zero exit status 1.", False), ("died with <Signals.SIGKILL: 9>.", True)],
)
def test_the_error_of_a_script_is_not_followed_by_that_of_snakemake(shown, ending, is_shown):
    text = f"RuleException:\nCalledProcessError in file \"prepare.smk\", line 85:\nCommand 'python x.py' {ending}\n"
    assert bool(shown((text, LogEvent.ERROR), level=logging.ERROR)) is is_shown


def test_errors_are_shown_until_the_user_interrupts(shown, monkeypatch):
    errors = [("lost a file", LogEvent.ERROR), ("Error in rule measure", LogEvent.JOB_ERROR)]
    assert shown(*errors, level=logging.ERROR) == "lost a file\n"  # a script prints its own error
    monkeypatch.setattr(machine, "is_interrupted", lambda: True)
    assert shown(*errors, level=logging.ERROR) == ""
