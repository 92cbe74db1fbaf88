"""The command ``./run-study``, after the installation: find the study and start Snakemake."""

from __future__ import annotations

import atexit
import contextlib
import io
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

import click
from snakemake.cli import args_to_api, get_argument_parser, parse_args, parse_config, print_exception
from snakemake.exceptions import CliException

from workflows import paths
from workflows.domain import FAILED, WITHDRAW
from workflows.errors import INTERRUPTED, InputError
from workflows.inputs import choose, keys, nearest, read_yaml, whole_number
from workflows.jobs.profile import missing_config
from workflows.paths import RESULTS, ROOT, STUDIES, working_folder
from workflows.plan.hooks import end_runs_without_jobs
from workflows.plan.machine import is_interrupted
from workflows.plan.plan import make_plan
from workflows.study.study import read_study
from workflows.study.written import write_study

# The script run-study prints this text before anything is installed.
HELP = """\
Runs a study and makes its tables and report. Installs what is missing first.

  ./run-study [STUDY] [OPTION...]            a file, or a name in config/studies; by default laptop
  ./run-study --command COMMAND [--time PATTERN] [--processes 1,2,4] [--name NAME] [...]
                                             times any program with the files of this folder:
                                             COMMAND without mpirun, PATTERN of the printed seconds
  ./run-study --case PATH [--processes 1,2,4] [--steps N] [--run-scripts] [--name NAME] [...]
                                             times an input of yours as it is (docs/own-case.md)
  ./run-study --again WHAT [STUDY] [...]     runs WHAT again, as further attempts: failed, none
              (withdraws earlier requests), or
              CASE[/INTERCONNECT[/PROCESSES[/OVERSUBSCRIPTION[/PROCESSES PER NODE][/threads-N]]]]
  ./run-study --compare BEFORE AFTER [...]   compares two folders of results, point by point
  ./run-study --model NAME FILE [...]        makes an interconnect to simulate from benchmarks of a
                                             real interconnect; --model --help lists its options
  ./run-study --interconnects [--write] [STUDY] [--profile cluster]
                                             lists the interconnects of this machine or cluster, and
                                             writes their files; --interconnects --help describes it
  ./run-study --init                         writes the site file of this cluster, cluster/site.yaml,
                                             or site.yaml in a folder outside the project
  ./run-study --archive [--anonymise] [STUDY]
                                             packs a study for a repository; --anonymise removes the
                                             names of hosts and users
  ./run-study --check ARCHIVE                checks that an archive is complete, valid and attested,
                                             and that its tables can be made again

Results go to results/ in the current folder, inside the project to that of the project;
  --results DIR             puts results/ into the folder DIR

Options are those of Snakemake; .venv/bin/snakemake --help lists them. Among them:

  --dry-run                 prints what would be done, and measures nothing; with an input of yours, a
                            trial run in a temporary folder estimates the time
  --config KEY=VALUE...     replaces keys of the study: --config blocks=12
  --forcerun analyse        makes tables and report again, and measures nothing of a complete study
  --profile cluster         makes the runs in jobs of a cluster: docs/cluster.md
"""

UNWRITABLE = "{}: you may not write there; name another folder with --results"

PROFILES_USED = " for setting default command line arguments."
"""End of the line in which Snakemake names its profiles. Nodeworth does not print this line."""

FEWEST_STEPS = 3
"""Smallest value of ``--steps``, as in the schema of a study."""


def _steps(text: str) -> int:
    """Return the number of steps of ``--steps``."""
    return whole_number("steps", text, FEWEST_STEPS)


@click.command(
    add_help_option=False, context_settings={"ignore_unknown_options": True, "allow_interspersed_args": True}
)
@click.option("--help", "-h", "wants_help", is_flag=True)
@click.option("--command")
@click.option("--time")
@click.option("--processes")
@click.option("--name")
@click.option("--again")
@click.option("--case")
@click.option("--steps", type=_steps)
@click.option("--run-scripts", is_flag=True)
@click.option("--compare", nargs=2)
@click.option("--model", is_flag=True)
@click.option("--interconnects", is_flag=True)
@click.option("--archive", is_flag=True)
@click.option("--anonymise", is_flag=True)
@click.option("--check")
@click.option("--init", "writes_site", is_flag=True)
@click.option("--results", type=click.Path(file_okay=False))
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def run_study(
    here: Path,
    wants_help: bool,
    command: str | None,
    time: str | None,
    processes: str | None,
    name: str | None,
    again: str | None,
    case: str | None,
    steps: int | None,
    run_scripts: bool,
    compare: tuple[str, str] | None,
    model: bool,
    interconnects: bool,
    archive: bool,
    anonymise: bool,
    check: str | None,
    writes_site: bool,
    results: str | None,
    words: tuple[str, ...],
) -> None:
    """Run a study, or do what one of the other options asks for.

    The study is the first word. An option of Snakemake and its values come after it.
    """
    for option, value in (("--case", case), ("--command", command), ("--name", name), ("--results", results)):
        if value is not None and value.startswith("--"):
            raise InputError(f"{option}: its value is missing before {value}")
    _check_again(again, words)
    if interconnects and (case is not None or command is not None):
        option = "--command" if case is None else "--case"
        raise InputError(
            f"--interconnects: lists interconnects, and does not choose those of {option}; to choose, "
            f"write a study with the key interconnects ({_page(option)})"
        )
    tasks = {
        "--command": command,
        "--case": case,
        "--compare": compare,
        "--model": model,
        "--interconnects": interconnects,
        "--archive": archive,
        "--check": check,
        "--init": writes_site,
    }
    if len(given := [option for option, value in tasks.items() if value not in (None, False)]) > 1:
        raise InputError(f"run-study: {' and '.join(given)} cannot be combined")
    paths.results_are_elsewhere = results is not None
    os.chdir(_made(here / results) if results else working_folder(here))
    if model:
        from workflows.replay.new_model import new_model  # the analysis takes a second to import

        print("\n".join(new_model([*words, *(["--help"] if wants_help else [])], here)))
    elif interconnects:
        from workflows.discovery import request  # takes a second to import

        printed = (
            [request.HELP]
            if wants_help
            else request.find_interconnects(_with_profiles(words, here), here, study_file)
        )
        print("\n".join(printed))
    elif wants_help:
        print(HELP, end="")
    elif anonymise and not archive:
        raise InputError("--anonymise: belongs to --archive")
    elif archive:
        _archive(words, here, anonymise)
    elif writes_site:
        from workflows.plan.new_site import write_site

        print("\n".join(write_site(Path.cwd())))
    elif check:
        _check_archive(check, here)
    elif compare:
        from workflows.study.comparing import write_comparison

        before, after = (_path(name, here) for name in compare)
        folder = Path.cwd()
        if _parsed(Path("study.yaml"), words, here)[1].dryrun:
            with _scratch_folder():
                file = write_comparison(before, after)
                _link_all_but(file, folder)
                _run(*_parsed(file, words, here))
        _run(*_parsed(write_comparison(before, after), words, here))
    elif command is not None:
        from workflows.plan.command_study import command_study

        if steps or run_scripts:
            raise InputError(f"{'--steps' if steps else '--run-scripts'}: belongs to --case")
        _check_options_of_input("--command", words, here)
        _start_written(command_study(command, time, processes, name, here), words, here, again)
    elif case is not None:
        from workflows.plan.case_study import case_study

        if time:
            raise InputError("--time: belongs to --command")
        _check_options_of_input("--case", words, here)
        _start_written(case_study(case, processes, steps, run_scripts, here, name), words, here, again)
    elif steps or run_scripts:
        raise InputError(f"{'--steps' if steps else '--run-scripts'}: belongs to --case")
    elif time:
        raise InputError("--time: belongs to --command")
    elif processes or name:
        raise InputError(
            f"{'--processes' if processes else '--name'}: belongs to --command or --case"
            + (f"; use --config {shlex.quote(f'processes=[{processes}]')}" if processes else "")
        )
    else:
        file, options = _study_and_options(words, here)
        if again and options == words and not (RESULTS / file.stem).exists():
            raise InputError(
                f"--again {again}: no study is named, and the default study {file.stem} has no results here"
            )
        _start(file, options, here, again)


def main(words: list[str]) -> None:
    """Run the command in the current folder; `words` are what the user typed.

    Raises
    ------
    InputError
        One line if what the user typed cannot be understood.
    KeyboardInterrupt
        The user pressed Ctrl-C.
    """
    for word in words:
        if f"-{word}" in {option for parameter in run_study.params for option in parameter.opts}:
            raise InputError(f"run-study: {word}: no such option, did you mean '-{word}'?")
    if "--" in words:  # click removes the first: Snakemake needs it before the files to make
        place = words.index("--")
        words = [*words[:place], "--", *words[place:]]
    try:
        run_study(words, standalone_mode=False, obj=Path.cwd(), prog_name="run-study")
    except click.Abort:  # click's error for Ctrl-C
        raise KeyboardInterrupt from None
    except click.UsageError as error:
        raise InputError(f"run-study: {error.format_message()} (--help shows what can be typed)") from None


def _check_again(again: str | None, words: tuple[str, ...]) -> None:
    """Raise an `InputError` if the value of ``--again`` is a study, so that WHAT is missing."""
    has_study = bool(words) and not words[0].startswith("-")
    is_study = not has_study and again is not None and (STUDIES / f"{again}.yaml").exists()
    if again is not None and (is_study or again.endswith((".yaml", ".yml"))):
        raise InputError(
            f"--again: WHAT is missing before {again}: failed, or a case of the study, as in "
            f"--again failed {again}"
        )


def _start(file: Path, options: tuple[str, ...], here: Path, again: str | None) -> NoReturn:
    read_study(file)  # report what is wrong in the file in one line, before Snakemake reads it
    parser, parsed = _parsed(file, options, here)
    if again:
        parsed.config = [*(parsed.config or ()), f"again={again}"]
    _run(parser, parsed)


def _remove_unused(folder: Path) -> None:
    """Remove a folder of results with only a study file, the lock of its cases and empty folders."""
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    if files <= {"study.yaml", "cases/.lock"}:
        shutil.rmtree(folder, ignore_errors=True)


def _check_options_of_input(option: str, options: tuple[str, ...], here: Path) -> None:
    """Raise an `InputError` if runs of an option would be jobs, or if a word follows that is no option."""
    _, parsed = _parsed(Path("study.yaml"), options, here)
    if options and not options[0].startswith("-"):
        if re.fullmatch(r"[\d,]+", options[0]):
            raise InputError(
                f"run-study: {options[0]}: unexpected word; write process counts without blanks, as in "
                "--processes 1,2,4"
            )
        raise InputError(
            f"run-study: {options[0]}: unexpected word; {option} takes a single {option.removeprefix('--')}; "
            "put quotes around words with blanks"
        )
    if "cluster" in parse_config(parsed.config):
        raise InputError(
            f"{option}: measures on this machine, without --profile; on a cluster, write a study that names "
            f"the {option.removeprefix('--')} and its interconnects ({_page(option)}#on-a-cluster)"
        )


def _page(option: str) -> str:
    """Return the page that describes ``--case`` or ``--command``."""
    return "docs/own-case.md" if option == "--case" else "docs/any-program.md"


def _start_written(
    study: Mapping[str, Any], options: tuple[str, ...], here: Path, again: str | None
) -> NoReturn:
    """Write the study that an option stands for, and start it.

    A wrong study is refused before the file of an earlier study is replaced. A dry run writes the file into a
    temporary folder, and sees the results of the working folder there. If Nodeworth refuses a study that has
    no results yet, it removes the folder that it made.
    """
    _, parsed = _parsed(Path("study.yaml"), options, here)
    folder = Path.cwd()
    with _scratch_folder():
        file = write_study(study)
        cases = read_study(file, parse_config(parsed.config)).cases
        if again:
            choose(again.partition("/")[0], {*cases, FAILED, WITHDRAW}, "case", f"{file}: again {again}")
        if parsed.dryrun:
            _link_all_but(file, folder)
            paths.folder_of_user = folder
            _start(file, options, here, again)
    _print_changes(study, file)
    results = (RESULTS / study["name"]).absolute()
    is_new = not results.exists()
    try:
        _start(write_study(study), options, here, again)
    except SystemExit as end:
        if is_new and isinstance(end.code, str):  # the line that refuses the study
            _remove_unused(results)
        raise


@contextlib.contextmanager
def _scratch_folder() -> Iterator[None]:
    """Change to a temporary folder within the context."""
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        yield


def _print_changes(study: Mapping[str, Any], file: Path) -> None:
    """Print which values of an earlier study file of the same name the study replaces."""
    earlier = read_yaml(file) if file.exists() else study
    before, now = (_flat(each) for each in (earlier, study))
    changed = [key for key in sorted({*before, *now}) if before.get(key) != now.get(key)]
    if "steps" not in now and "steps" in changed:
        changed.remove("steps")  # the case keeps its number of steps
    if "ignore" in changed:
        changed.remove("ignore")  # not typed by the user, but chosen from the files of the folder
    values = [f"{key}: {json.dumps(before[key])}" if key in before else f"no {key}" for key in changed]
    if values:
        print(f"{file}: replaced; it stated {', '.join(values)}", file=sys.stderr)


def _flat(study: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a study, and the keys of its case if it has a single case with keys."""
    cases = study.get("cases", [])
    if len(cases) != 1 or not isinstance(cases[0], dict):
        return dict(study)
    return {key: value for key, value in study.items() if key != "cases"} | cases[0]


def _link_all_but(file: Path, folder: Path) -> None:
    """Link everything of a folder into the current folder, except a file, given relative to both.

    Links get the times of their targets, since Snakemake compares the times of links.
    """
    for left_out in (*file.parents[-2::-1], file):
        for target in (folder / left_out.parent).glob("*"):
            if target.name != left_out.name:
                link, state = left_out.parent / target.name, target.lstat()
                link.symlink_to(target)
                os.utime(link, ns=(state.st_atime_ns, state.st_mtime_ns), follow_symlinks=False)


def _archive(words: tuple[str, ...], here: Path, anonymise: bool) -> None:
    from workflows.results.archive import archive_study

    file, options = _study_and_options(words, here)
    if options:
        raise InputError(f"--archive: {options[0]!r} is unknown; allowed: --anonymise and a study file")
    for line in archive_study(make_plan(file), anonymise):
        print(line)


def _check_archive(name: str, here: Path) -> None:
    from workflows.results.archive_check import check_archive

    checked = check_archive(_path(name, here))
    print("\n".join(checked.holds))
    if checked.fails:
        print("\n".join(f"fails: {line}" for line in checked.fails))
        sys.exit(1)
    print("the archive passes")


def _study_and_options(words: tuple[str, ...], here: Path) -> tuple[Path, tuple[str, ...]]:
    """Study file, by default laptop.yaml, and options of Snakemake.

    A word after an option may be a value of the option, so only the first word can be a study.
    """
    if words and not words[0].startswith("-"):
        return study_file(words[0], here), words[1:]
    return study_file("laptop", here), words


def _parsed(file: Path, options: tuple[str, ...], here: Path) -> tuple[Any, Any]:
    """Let Snakemake parse its options for a study file.

    Returns
    -------
    tuple
        Snakemake's parser, and the parsed options.

    Raises
    ------
    InputError
        One line instead of Snakemake's page of options.
    """
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed):
            # "=": the option takes no further word, so files to make may follow.
            study = ["--snakefile", str(ROOT / "Snakefile"), f"--configfile={file}"]
            parser, parsed = parse_args([*study, *_joined_config(_with_profiles(options, here))])
            config = parse_config(parsed.config)  # raises an error if it cannot be read
    except (CliException, ValueError) as error:
        in_section = any(re.match(r"\w+\.[\w.]+=", word) for word in options)
        hint = " For a key in a section, write for example --config 'limits={idle_seconds: 0}'."
        raise InputError(f"run-study: {error}{hint if in_section else ''}") from None
    except SystemExit:
        problem = printed.getvalue().splitlines()[-1].rpartition(" error: ")[2]
        if "--write" in options:
            raise InputError("--write: belongs to --interconnects") from None
        _check_profile(problem)
        _check_study_keys(options)
        allowed = "the options of Snakemake are allowed, and those of --help"
        raise InputError(f"run-study: {problem}{_suggestion(problem)} ({allowed})") from None
    shipped = {study.stem for study in STUDIES.glob("*.yaml")}
    if studies := [word for word in parsed.targets if word.endswith((".yaml", ".yml")) or word in shipped]:
        raise InputError(
            f"run-study: {studies[0]}: only one study at a time; start each with its own command"
        )
    lines = [line for line in printed.getvalue().splitlines() if not line.endswith(PROFILES_USED)]
    print("".join(f"{line}\n" for line in lines), end="", file=sys.stderr)
    missing = missing_config(parsed.profile or (), config)  # since --config replaces the profile's config
    parsed.config = [*(parsed.config or ()), *(f"{key}={value}" for key, value in missing.items())]
    return parser, parsed


def _joined_config(options: Sequence[str]) -> list[str]:
    """Join the values of several ``--config``, of which Snakemake would use only the last."""
    others, values = list[str](), list[str]()
    is_value = False
    for word in options:
        name, is_joined, value = word.partition("=")
        is_value = name in ("--config", "-C") or (is_value and not word.startswith("-"))
        if not is_value:
            others.append(word)
        elif name not in ("--config", "-C"):
            values.append(word)
        elif is_joined:
            values.append(value)
    end = others.index("--") if "--" in others else len(others)
    return [*others[:end], *(["--config", *values] if values else []), *others[end:]]


def _check_profile(problem: str) -> None:
    """Raise an `InputError` if the problem that Snakemake states is a missing profile."""
    if given := re.search(r"profile directory given \((.*?)\)", problem):
        profiles = {file.parent.relative_to(ROOT).as_posix() for file in ROOT.glob("cluster/**/config.yaml")}
        choose(given[1], profiles, "profile", "--profile")


def _check_study_keys(options: Sequence[str]) -> None:
    """Raise an `InputError` if an option that Snakemake does not have is a key of a study."""
    snakemake_options = re.findall(r"--[a-z][a-z-]+", get_argument_parser().format_help())
    for word, following in pairwise([*options, "VALUE"]):
        option, is_joined, value = word.partition("=")
        key = option.removeprefix("--").replace("-", "_")
        if option.startswith("--") and key in keys("study") and option not in snakemake_options:
            value = value if is_joined or following.startswith("-") else following
            config = shlex.join([f"{key}={value or 'VALUE'}"])
            raise InputError(f"run-study: {option}: no such option; use --config {config}")


def _suggestion(problem: str) -> str:
    """Return the end of a message that suggests an option; empty if none is near."""
    if "did you mean" in problem.lower():
        return ""
    words = [word.partition("=")[0] for word in problem.split() if word.startswith("--")]
    options = re.findall(r"--[a-z][a-z-]+", HELP + get_argument_parser().format_help())
    return next(filter(None, (nearest(word, options) for word in words)), "")


def _with_profiles(options: tuple[str, ...], here: Path) -> list[str]:
    """Replace the name of a profile by its full path: in the user's folder, or else in the project's.

    A profile in the working folder keeps its name.
    """

    def full(before: str, word: str) -> str:
        name = word.removeprefix("--profile=")
        is_profile = before == "--profile" or name != word
        if not is_profile or Path(name).exists() or not _path(name, here).exists():
            return word
        return f"{word.removesuffix(name)}{_path(name, here)}"

    return [full(*pair) for pair in pairwise(["", *options])]


def _made(folder: Path) -> Path:
    """Make the folder of ``--results``. If it has no results at the end, remove it."""
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except PermissionError:
        raise InputError(UNWRITABLE.format(folder)) from None
    except OSError as error:
        raise InputError(f"--results: {folder} cannot be created: {error.strerror}") from None
    atexit.register(_remove_empty, made)
    return folder


def _remove_empty(folders: Sequence[Path]) -> None:
    """Remove new folders, innermost first, if the innermost has only files of Snakemake."""
    if folders and not [path for path in folders[0].glob("*") if path.name != ".snakemake"]:
        shutil.rmtree(folders[0], ignore_errors=True)
        with contextlib.suppress(OSError):
            for folder in folders[1:]:
                folder.rmdir()


def _run(parser: Any, arguments: Any) -> NoReturn:
    """Run a study in this process and exit: with status 1 if the study fails, 130 after Ctrl-C."""
    if not os.access(Path.cwd(), os.W_OK):
        raise InputError(UNWRITABLE.format(Path.cwd()))
    try:
        succeeded = args_to_api(arguments, parser)
    except Exception as error:
        print_exception(error)
        sys.exit(1)
    if succeeded:
        end_runs_without_jobs()
    sys.exit(INTERRUPTED if is_interrupted() else not succeeded)


def _path(name: str, here: Path) -> Path:
    """Return the typed path. If it exists only in the project's folder, return the path there."""
    return ROOT / name if (ROOT / name).exists() and not (here / name).exists() else here / name


def study_file(name: str, here: Path) -> Path:
    """The file of a path as the user typed it, or of the name of a study of this project."""
    for file in (here / name, ROOT / name, STUDIES / f"{name}.yaml"):
        if file.suffix in (".yaml", ".yml") and file.exists():
            return file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file
    if _path(name, here).exists():
        raise InputError(
            f"{name}: is no study file; study files end in .yaml. To time it as an input: --case {name}"
        )
    shipped = sorted(file.stem for file in STUDIES.glob("*.yaml"))
    likely = nearest(name, [*shipped, *(file.name for file in here.glob("*.yaml"))])
    if (here / f"{name}.yaml").exists():
        likely = f", did you mean '{name}.yaml'?"
    raise InputError(f"{name}: no such study file{likely}; studies: {', '.join(shipped)}")
