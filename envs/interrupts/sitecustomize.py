"""End a script of Snakemake without a traceback if Ctrl-C comes during its imports.

Python imports this module when it starts (see its module `site`) if this folder is in PYTHONPATH. Programs
that the script starts do not inherit the folder, since a cluster may have its own `sitecustomize`. The module
imports nothing that Python has not imported yet, since Ctrl-C during this import prints a traceback.
"""

import os
import sys


def _comes_from_interrupt(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def _print_unless_interrupted(kind, error, trace) -> None:
    if not _comes_from_interrupt(error):
        sys.__excepthook__(kind, error, trace)


def _report_unless_interrupted(unraisable) -> None:
    if not _comes_from_interrupt(unraisable.exc_value):
        sys.__unraisablehook__(unraisable)


sys.excepthook = _print_unless_interrupted
sys.unraisablehook = _report_unless_interrupted
folders = os.environ.get("PYTHONPATH", "").split(os.pathsep)
if others := [folder for folder in folders if f"{folder}{os.sep}sitecustomize.py" != __file__]:
    os.environ["PYTHONPATH"] = os.pathsep.join(others)
else:
    del os.environ["PYTHONPATH"]
