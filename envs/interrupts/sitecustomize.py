"""End Python programs of Nodeworth without a traceback after Ctrl-C.

Python imports this module when it starts (see its module `site`) if this folder is in PYTHONPATH. Ctrl-C
during the imports of a program then prints no traceback either.
"""

import sys
from types import TracebackType


def _print_unless_interrupted(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _print_unless_interrupted
