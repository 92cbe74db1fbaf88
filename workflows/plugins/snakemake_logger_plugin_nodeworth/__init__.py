"""Show a run of Snakemake on the terminal: its jobs in one live line, and its errors.

The complete log stays in ``.snakemake/log``. A dry run counts the jobs of each rule. ``--verbose`` and
``--debug-dag`` show every message.
"""

import logging
import os
import re
import sys
from collections.abc import Sequence
from itertools import takewhile

from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from workflows.errors import InputError, one_line_errors
from workflows.plan import machine
from workflows.plan.hooks import refused_target

CONFIG_FILES = ("--configfile", "--configfiles")
"""Options of Snakemake that name study files."""
_HIDDEN_ERRORS = frozenset({LogEvent.JOB_ERROR, LogEvent.GROUP_ERROR})
"""Scripts print their own errors, and the end of the study lists what has stopped."""
_SCRIPT_FAILED = re.compile(r"CalledProcessError in file .* returned non-zero exit status 1\.\s*\Z", re.S)
"""Text of Snakemake after a script has printed its error and ended. Killed scripts have other statuses."""


def check_config_files(words: Sequence[str]) -> None:
    """Check that only study files follow ``--configfile``, which takes every word up to the next option.

    Raises
    ------
    InputError
        A file to make follows, which Snakemake would read as a study. The line shows the order that works.
    """
    place = next((index for index, word in enumerate(words) if word in CONFIG_FILES), len(words))
    studies = list(takewhile(lambda word: not word.startswith("-"), words[place + 1 :]))
    if targets := [word for word in studies[1:] if not word.endswith((".yaml", ".yml", ".json"))]:
        files = " ".join(targets)
        raise InputError(
            f"{words[place]}: {files}: is no study file; name the files to make first: "
            f"snakemake {files} --configfile {studies[0]}"
        )


class LogHandler(LogHandlerBase):
    """Write messages of Snakemake to standard error."""

    def __post_init__(self) -> None:
        """Start before the first job, and before Snakemake reads the files of ``--configfile``."""
        with one_line_errors():
            check_config_files(sys.argv[1:])
        self.jobs_have_begun = False
        settings = self.common_settings
        self.shows_all = settings.verbose or settings.debug_dag
        self.is_quiet = Quietness.ALL in (settings.quiet or ())
        self.stream = sys.stdout if settings.stdout else sys.stderr

    def emit(self, record: logging.LogRecord) -> None:
        """Show a message if a user needs it."""
        event = getattr(record, "event", None)
        if self.is_quiet and record.levelno < logging.WARNING:
            return
        if self.shows_all:
            self.write(record)
        elif event == LogEvent.RUN_INFO:
            if self.common_settings.dryrun and not self.jobs_have_begun:
                self.write(record)  # the list of jobs, which Snakemake repeats at the end
            self.jobs_have_begun = True
        elif event == LogEvent.JOB_INFO and not self.common_settings.dryrun:
            self.show_beginning(getattr(record, "rule_msg", None))
        elif self.is_needed(record, event):
            self.write(record)

    def is_needed(self, record: logging.LogRecord, event: LogEvent | None) -> bool:
        """Whether a message is a warning or an error, or says what Snakemake does before the first job."""
        if record.levelno >= logging.WARNING:
            is_repeated = event == LogEvent.ERROR and _SCRIPT_FAILED.search(record.getMessage())
            return not (event in _HIDDEN_ERRORS or is_repeated or machine.is_interrupted())
        return event is None and not self.jobs_have_begun

    def show_beginning(self, message: str | None) -> None:
        """Show which job begins: on a terminal the next line replaces this line."""
        if message:
            before, after = ("\r\033[K", " …") if self.stream.isatty() else ("", "\n")
            print(before + message, end=after, file=self.stream, flush=True)

    def write(self, record: logging.LogRecord) -> None:
        """Write a message as Snakemake formats it; some have no text."""
        if text := self.format(record):
            try:
                print(refused_target(text) or text, file=self.stream, flush=True)
            except BrokenPipeError:  # as of `--dry-run | head`
                os.dup2(os.open(os.devnull, os.O_WRONLY), self.stream.fileno())

    @property
    def writes_to_stream(self) -> bool:
        """This handler replaces Snakemake's own output."""
        return True

    @property
    def writes_to_file(self) -> bool:
        """Snakemake writes its log file itself."""
        return False

    @property
    def has_filter(self) -> bool:
        """This handler chooses what it shows."""
        return True

    @property
    def has_formatter(self) -> bool:
        """Snakemake formats the messages."""
        return False

    @property
    def needs_rulegraph(self) -> bool:
        """No graph is shown."""
        return False
