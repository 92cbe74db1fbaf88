"""What ``./run-study`` does once everything is installed: find the study, start Snakemake."""

from __future__ import annotations

import atexit
import contextlib
import gc
import io
import sys
from pathlib import Path
from typing import Any, NoReturn

from workflows.errors import InputError, one_line_errors
from workflows.jobs.in_job import spare_pandas
from workflows.paths import ROOT, STUDIES
from workflows.plan.finished import answer

HELP = """\
Runs a study and makes its tables and report; sets up what is missing first.

  ./run-study [STUDY] [OPTION...]            a file, or a name in config/studies; by default laptop
  ./run-study --again WHAT [STUDY] [...]     runs WHAT again first, as further attempts: failed, or
              CASE[/INTERCONNECT[/PROCESSES[/OVERSUBSCRIPTION[/PROCESSES PER NODE][/threads-N]]]]
  ./run-study --compare BEFORE AFTER [...]   compares two folders of results, point by point
  ./run-study --model NAME FILE [...]        makes an interconnect to simulate from benchmarks of a
                                             real one; --model --help tells more
  ./run-study --archive [--anonymise] [STUDY]
                                             packs a study for a repository, without the names of
                                             hosts and users if asked to
  ./run-study --check ARCHIVE                says whether an archive is whole, valid, attested, and
                                             comes out again

Options are those of Snakemake; .venv/bin/snakemake --help lists them. Among them:

  --dry-run                 says what would be done, and does nothing
  --config KEY=VALUE...     replaces keys of the study: --config blocks=12
  --forcerun analyse        makes tables and report anew, and measures nothing of a complete study
  --profile cluster         makes the runs in jobs of a cluster: docs/cluster.md
"""

# Whatever else is imported, is imported where it is needed: most of it takes longer than all that this does.
DEFAULT = (STUDIES / "laptop.yaml").relative_to(ROOT)


def main(arguments: list[str]) -> None:
    """Run a study; `arguments` are the folder in which the user typed the command, then what was typed."""
    here, rest = Path(arguments[0]), arguments[1:]
    again = None
    if rest[:1] != ["--model"] and {"-h", "--help"} & {*arguments}:
        print(HELP, end="")
        return
    if rest[:1] == ["--archive"]:
        _archive(rest[1:], here)
        return
    if rest[:1] == ["--check"]:
        _check_archive(rest[1:], here)
        return
    if rest[:1] == ["--model"]:
        from workflows.replay.new_model import new_model

        print("\n".join(new_model(rest[1:], here)))
        return
    if rest[:1] == ["--compare"]:
        if len(rest) < 3:
            raise InputError("--compare: name two folders of results: before, then after")
        from workflows.study.comparing import write_comparison

        compared = write_comparison(*(_found(name, here) for name in rest[1:3]))
        _run(*_parsed(compared, rest[3:])[:2])
    if rest[:1] == ["--again"]:
        from workflows.plan.again import WHAT, ask_again
        from workflows.plan.plan import make_plan

        if len(rest) < 2:
            raise InputError(f"--again: say what: {WHAT}")
        again, rest = rest[1], rest[2:]
    file, rest = _chosen(rest, here)
    if not (again or rest) and (lines := answer(file)):
        print("\n".join(lines), file=sys.stderr)
        return
    spare_pandas()
    from workflows.study.study import read_study

    read_study(file)  # says what is wrong with the file in one line, before Snakemake reads it
    parser, options, replaced = _parsed(file, rest)
    if again:
        ask_again(make_plan(file, replaced), again)
    _run(parser, options)


def _archive(rest: list[str], here: Path) -> None:
    from workflows.plan.plan import make_plan
    from workflows.results.archive import archive_study

    anonymise = "--anonymise" in rest
    file, rest = _chosen([option for option in rest if option != "--anonymise"], here)
    if rest:
        raise InputError(f"--archive: what is {rest[0]!r}? It takes --anonymise and a study file")
    for line in archive_study(make_plan(file), anonymise):
        print(line)


def _check_archive(rest: list[str], here: Path) -> None:
    from workflows.results.archive_check import check_archive

    if len(rest) != 1:
        raise InputError("--check: name one archive, a .zip that --archive made")
    checked = check_archive(_found(rest[0], here))
    print("\n".join(checked.holds))
    if checked.fails:
        print("\n".join(f"fails: {line}" for line in checked.fails))
        sys.exit(1)
    print("the archive passes")


def _chosen(rest: list[str], here: Path) -> tuple[Path, list[str]]:
    """The study file, by default laptop.yaml, and what else was typed."""
    if "--anonymise" in rest:
        raise InputError("--anonymise: belongs to --archive, which comes first: --archive --anonymise")
    if rest and not rest[0].startswith("-"):
        return study_file(rest[0], here), rest[1:]
    return DEFAULT, rest


def _parsed(file: Path, rest: list[str]) -> tuple[Any, Any, dict[str, Any]]:
    """What Snakemake is to do with a study file: what is wrong is one line instead of its page of options.

    Gives its parser, what that made of the options, and the keys of the study that ``--config`` replaces.
    """
    from snakemake.cli import parse_args, parse_config  # takes seconds
    from snakemake.exceptions import CliException

    sys.argv = ["snakemake", "--configfile", str(file), *rest]
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            parser, options = parse_args(None)
            replaced = parse_config(options.config)
    except (CliException, ValueError) as error:
        raise InputError(f"run-study: {error}") from None
    except SystemExit:
        if not said.getvalue():  # it was asked for help, and gave it
            raise
        what = said.getvalue().splitlines()[-1].rpartition(" error: ")[2]
        allowed = "the options of Snakemake are allowed, and those of --help"
        raise InputError(f"run-study: {what} ({allowed})") from None
    print(said.getvalue(), end="", file=sys.stderr)  # which profiles it takes
    return parser, options, replaced


def _run(parser: Any, options: Any) -> NoReturn:
    """Run a study in this process, as Snakemake's `main` does with what it has parsed."""
    from snakemake.cli import args_to_api, print_exception

    atexit.register(gc.freeze)  # else Python looks for garbage in all of this before it ends
    try:
        sys.exit(not args_to_api(options, parser))
    except Exception as error:
        print_exception(error)
        sys.exit(1)


def _found(given: str, here: Path) -> Path:
    """A path as the user typed it, or below the project's folder."""
    return here / given if (here / given).exists() else ROOT / given


def study_file(given: str, here: Path) -> Path:
    """The file of a path as the user typed it, or of the name of a study of this project."""
    for file in (here / given, ROOT / given, STUDIES / f"{given}.yaml"):
        if file.suffix in (".yaml", ".yml") and file.exists():
            return file.relative_to(ROOT) if file.is_relative_to(ROOT) else file
    if _found(given, here).exists():
        raise InputError(f"{given}: is no study file; those end in .yaml")
    known = ", ".join(sorted(file.stem for file in STUDIES.glob("*.yaml")))
    raise InputError(f"{given}: no such study file, nor one of {known}")


if __name__ == "__main__":
    with one_line_errors():
        main(sys.argv[1:])
