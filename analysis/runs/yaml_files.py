"""Reading of YAML files; an error names the file and the line.

The module does not import pandas, so that measuring jobs, which read YAML files, start quickly.
"""

from __future__ import annotations

import re
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from analysis.runs.errors import TableError


def load_yaml(text: str) -> object:
    """Read YAML 1.2.

    Raises
    ------
    YAMLError
        If the text is not YAML. The parser in Python, unlike libyaml, names the fault and its line.
    """
    return YAML(typ="safe", pure=True).load(text)


def fault(error: MarkedYAMLError) -> str:
    """Return what is wrong in the text, in one line."""
    if isinstance(error, DuplicateKeyError) and (key := re.search(r'key "(.*?)"', str(error.problem))):
        return f"key {key[1]!r} is there twice; each only once"
    return str(error.problem).splitlines()[0]


def line_of(error: MarkedYAMLError) -> int | None:
    """Return the line of a fault, from 1; for an open bracket, the line of this bracket."""
    is_open = "flow" in str(error.context)
    marks = (error.context_mark, error.problem_mark)
    mark = next(filter(None, marks if is_open else reversed(marks)), None)
    return mark.line + 1 if mark else None


def read_yaml(path: Path) -> object:
    """Read a YAML file with any content.

    Raises
    ------
    TableError
        In one line with file and line, if there is no such file or it is not YAML.
    """
    try:
        return load_yaml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TableError("there is no such file", str(path)) from None
    except MarkedYAMLError as error:
        line = line_of(error)
        raise TableError(fault(error), str(path), f"line {line}" if line else "") from None
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise TableError(f"cannot be read: {' '.join(str(error).split())}", str(path)) from None
