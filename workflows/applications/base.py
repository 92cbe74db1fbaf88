"""The interface of an application: how to prepare and start a case, and how to read its output."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workflows.applications import tools
from workflows.domain import Case, InputError, Line, Reading, Work
from workflows.launch.last_words import explaining_line


@dataclass(frozen=True)
class Steps:
    """Marks of the steps in an application's output, so that a few steps of a run can be traced.

    Attributes
    ----------
    mark : tuple of str
        Texts. The program prints one of them at the end of every step.
    parameter : str
        Parameter of a case that holds the number of steps.
    untimed : int
        Number of steps at the start of a run that its timed seconds do not cover.
    """

    mark: tuple[str, ...]
    parameter: str
    untimed: int


@dataclass(frozen=True)
class Adopted:
    """Description of a user's input, from which Nodeworth writes a case.yaml.

    Attributes
    ----------
    program : str
        Name of the program that runs the input, for headings.
    settings, parameters : dict
        Sections of case.yaml.
    changes : tuple of str
        Phrases for the report: each names a change that timed runs make to the user's input.
    steps : int or None
        Number of steps in the user's input; None if the application has no steps.
    steps_key : str or None
        Parameter that holds the number of steps.
    serial_seconds, memory_MB : float
        Rough estimates for a serial run, which serve until a trial run has been made.
    remarks : tuple of str
        Sentences about input that may not be what the user expects, without a full stop.
    """

    program: str
    settings: dict[str, Any]
    parameters: dict[str, Any]
    changes: tuple[str, ...]
    steps: int | None
    steps_key: str | None
    serial_seconds: float
    memory_MB: float  # noqa: N815
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class LoggedRun:
    """What a log states about its run, which Nodeworth did not start; None where the log does not state it.

    Attributes
    ----------
    seconds : float or None
        Time of the main loop.
    wall_seconds : float or None
        Time of the whole job.
    processes, threads, nodes : int or None
        ``threads`` is the number of threads of each process.
    started : str or None
        Date and time as printed.
    work : Work or None
    answer : float or None
    problem : str or None
        Why the run does not count; None for a sound run.
    line : int or None
        Index of the line of the time or the problem.
    resolution_seconds : float or None
        Step of ``seconds``, if it is coarser than the printed digits show.
    loop_seconds : mapping of str to float
        Time of each part of the main loop.
    """

    seconds: float | None = None
    wall_seconds: float | None = None
    processes: int | None = None
    threads: int | None = None
    nodes: int | None = None
    started: str | None = None
    work: Work | None = None
    answer: float | None = None
    problem: str | None = None
    line: int | None = None
    resolution_seconds: float | None = None
    loop_seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Difference:
    """Difference of a quantity between two runs that should agree.

    Attributes
    ----------
    quantity : str
        Name of the quantity.
    value : float
        Size of the difference. It is infinite if a run lacks the quantity, or if the quantity is not finite.
    allowed : float
        Largest difference that is always allowed.
    most : float
        Largest difference that is allowed where rounding alone makes runs differ by more than `allowed`.
    unit : str
        Unit of the three numbers.
    """

    quantity: str
    value: float
    allowed: float
    most: float
    unit: str = "relative difference"


class Application(ABC):
    """A program under study.

    A subclass in a module of this package is the only code that knows the program. Its methods hold no state:
    the same arguments always give the same result. ``docs/extending/application.md`` shows a complete
    example.

    Attributes
    ----------
    keys_of_steps : str
        Where a user's input states its number of steps, for messages.
    steps : Steps or None
        Marks of the steps, if runs are traced step by step. Else `timed_part` marks the traced part.
    variables : tuple of str
        Prefixes of the environment variables that change how the program computes. Records keep these
        variables.
    reads_errors : bool
        Whether `read` receives standard error together with standard output, sorted by the times of the
        lines.
    adopted : str or None
        Description of the users' inputs that `adopt` accepts, for messages. None if it accepts none.
    log_mark : str or None
        Regular expression for lines that only this program prints, for logs that `read_log` cannot read.
    """

    steps: Steps | None = None
    keys_of_steps: str = ""
    variables: tuple[str, ...] = ()
    reads_errors: bool = False
    adopted: str | None = None
    log_mark: str | None = None

    @abstractmethod
    def programs(self, case: Case) -> list[str]:
        """Return the programs that must be installed on the machine."""

    @abstractmethod
    def inputs(self, case: Case) -> dict[str, bytes]:
        """Return the input files of a run for the case's size, by relative path.

        The digest of a case covers these files, the parameters and the settings. So everything that changes a
        run must be among them.

        Raises
        ------
        InputError
            An input file is missing or wrong.
        """

    def prepare(self, case: Case, processes: int, folder: Path, base: Path | None) -> None:
        """Make `folder` ready for runs on `processes` (mesh, decomposition); never timed.

        The default writes the files of `inputs`, which suits a program that divides its own work.

        Parameters
        ----------
        base : Path or None
            Folder prepared for one process; None if `folder` is that folder.

        Raises
        ------
        InputError
            The case is wrong.
        RuntimeError
            A program of the preparation failed: one line with the reason.
        """
        tools.write_inputs(self.inputs(case), folder)

    def stage(self, case: Case, prepared: Path, folder: Path) -> None:
        """Fill the fresh, empty `folder` for one run and leave `prepared` unchanged.

        The default links everything in `prepared`.
        """
        tools.require_empty(folder)
        tools.link_contents(prepared, folder)

    @abstractmethod
    def command(self, case: Case, processes: int, threads: int = 1) -> list[str]:
        """Return program and arguments of each rank. A rank starts in the folder that `stage` filled."""

    @abstractmethod
    def unthreaded(self, case: Case, program: str) -> str | None:
        """Return why a process cannot compute with several threads; None if it can.

        Parameters
        ----------
        program : str
            Path of the program, or its name if it is on the ``PATH``.
        """

    def cells(self, case: Case) -> int | None:
        """Return the number of cells of the mesh; None (the default) without a mesh or if unknown."""
        return None

    def environment(self, case: Case) -> dict[str, str]:
        """Return the environment variables of every rank; by default, the case's ``settings.environment``."""
        environment: dict[str, str] = case.settings["environment"]
        return environment

    @abstractmethod
    def read(self, case: Case, processes: int, lines: list[Line], threads: int = 1) -> Reading:
        """Read the output of a run: its time, answer and details.

        This method never raises. If the output is cut off or garbled, `Reading.problem` says what is wrong.

        Parameters
        ----------
        lines : list of Line
            Standard output, and standard error if `reads_errors`.
        """

    def read_log(self, lines: list[Line]) -> LoggedRun | None:
        """Read a log without its case and without arrival times; None, the default, if that is impossible.

        Lines of other programs may surround the output. Never raises, like `read`.
        """
        return None

    def adopts(self, source: Path) -> bool:
        """Return whether `adopt` accepts `source`, an input of a user; by default False."""
        return False

    def input_files(self, source: Path) -> dict[str, Path]:
        """Return the files of a user's input by their relative path in a case; by default `source` itself."""
        return {source.name: source}

    def adopt(self, source: Path, folder: Path, run_scripts: bool, prepare: bool) -> Adopted:
        """Describe an input of a user, for the case.yaml that Nodeworth writes.

        Parameters
        ----------
        source : Path
            The user's input, which is never written to.
        folder : Path
            Nodeworth's copy of the `input_files`.
        run_scripts : bool
            Whether scripts in the input may run.
        prepare : bool
            Whether programs of the application may run here, to complete the copy.

        Raises
        ------
        InputError
            The input cannot be run as it is: one line.
        RuntimeError
            A program fails: one line.
        """
        raise InputError(f"{source}: no input of a user can be run by this application")

    def variants(self, case: Case) -> list[Case]:
        """Return variants of a user's case whose runs on two processes differ only by rounding.

        By default there are none.
        """
        return []

    def differences(
        self, case: Case, details: Mapping[str, Any], serial: Mapping[str, Any]
    ) -> list[Difference]:
        """Return the differences between a run of a case without an answer and the serial run.

        By default, nothing is compared.

        Parameters
        ----------
        details, serial : mapping
            `Reading.details` of the run and of the serial run.
        """
        return []

    def timed_part(self) -> tuple[str, ...]:
        """Return the texts that the program prints at the start and at the end of its timed part.

        Only the part between them is traced. By default there are no texts: the whole run or its `steps` are
        traced.
        """
        return ()

    def work(self, prepared: Path, details: Mapping[str, Any]) -> Work | None:
        """Return the work done in the timed part; None (the default) if the application counts no work.

        Parameters
        ----------
        prepared : Path
            Folder of the prepared case of the run.
        details : mapping
            `Reading.details` of the run.
        """
        return None

    def untimed(self, prepared: Path) -> dict[str, float]:
        """Return the seconds of each step that made the folder `prepared` (``mesh``); by default none."""
        return {}

    def explain(self, errors: str) -> str | None:
        """Return the line of standard error that explains why the program failed; None if no line does."""
        return explaining_line(errors)

    def version(self, lines: list[Line]) -> str | None:
        """Return the version that the program prints; None (the default) if it prints none."""
        return None
