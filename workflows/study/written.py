"""Study files that options of ``./run-study`` write, such as ``--case`` and ``--command``."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from workflows.paths import RESULTS


def write_study(study: Mapping[str, Any]) -> Path:
    """Write a study to ``results/<name>/study.yaml`` as a whole or not at all, and return the path."""
    folder: Path = RESULTS / study["name"]
    folder.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    YAML().dump(dict(study), text)
    draft = folder / "study.yaml.part"
    draft.write_text(text.getvalue(), encoding="utf-8")
    return draft.replace(folder / "study.yaml")
