"""End a script of Snakemake without a traceback if Ctrl-C comes during its imports.

Python imports this module when it starts (see its module `site`) if this folder is in PYTHONPATH. Programs
that the script starts do not inherit the folder, since a cluster may have its own `sitecustomize`.
"""

import os
import sys
from pathlib import Path
from types import TracebackType

FOLDERS = os.environ.get("PYTHONPATH", "").split(os.pathsep)


def _print_unless_interrupted(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _print_unless_interrupted
if others := [folder for folder in FOLDERS if Path(folder) != Path(__file__).parent]:
    os.environ["PYTHONPATH"] = os.pathsep.join(others)
else:
    del os.environ["PYTHONPATH"]
