"""The order of the layers: a module imports only what lies in its own folder or in a layer below it."""

import ast
import functools
import re
from pathlib import Path

import pytest

from workflows.paths import ROOT

LAYERS = {
    "analysis": "statistics runs importers curves presentation topics report pipeline",
    "workflows": "errors domain paths inputs traffic benchmarks jobs launch applications simulation study plan "
    "plugins measure discovery tracing replay report results scripts command start",
}
"""Folders and single modules of each package, the lowest layer first; docs/architecture.md says what each holds."""


def layer_of(module: Path, package: str) -> str:
    """First folder of a module below its package, or the module itself."""
    return module.relative_to(ROOT / package).parts[0].removesuffix(".py")


@functools.cache
def imported(module: Path) -> set[str]:
    """Dotted names of all imports of this project in a module."""
    names = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name.split(".")[0] in LAYERS}


def modules(package: str) -> list[Path]:
    """All modules of a package but its own ``__init__.py``."""
    return [path for path in sorted((ROOT / package).rglob("*.py")) if path != ROOT / package / "__init__.py"]


@pytest.mark.parametrize("package", LAYERS)
def test_every_module_lies_in_a_layer_and_every_layer_has_modules(package):
    assert {layer_of(module, package) for module in modules(package)} == set(LAYERS[package].split())


@pytest.mark.parametrize("package", LAYERS)
def test_modules_import_nothing_of_a_layer_above(package):
    order = {layer: place for place, layer in enumerate(LAYERS[package].split())}
    edges = [
        (order[layer_of(module, package)], order[name.split(".")[1]], f"{module.relative_to(ROOT)}: {name}")
        for module in modules(package)
        for name in imported(module)
        if name.split(".")[0] == package
    ]
    assert len(edges) > 100
    assert not [edge for layer, other, edge in edges if other > layer]


def test_the_analysis_imports_nothing_of_the_workflows():
    names = [name for module in (ROOT / "analysis").rglob("*.py") for name in imported(module)]
    assert len(names) > 100
    assert not [name for name in names if name.startswith("workflows")]


def test_the_analysis_reads_tables_alone():
    """Few modules open files, and none names a folder of what runs wrote."""
    readers = "runs/runs runs/files runs/yaml_files runs/side_tables pipeline importers/".split()
    files = modules("analysis")
    assert len(files) > 50
    for module in files:
        text, place = module.read_text(), str(module.relative_to(ROOT / "analysis"))
        if not place.startswith(tuple(readers)):
            assert not re.search(r"\bread_(text|bytes|csv|json|parquet)\(|\.open\(\)|json\.load", text), place
        folder = r"(records|traces|simulated)"
        assert not re.search(rf"[\"']{folder}/|/ [\"']{folder}\b", text), place


def test_tests_lie_in_folders_named_after_the_layers():
    layers = {layer for package in LAYERS.values() for layer in package.split()}
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}
    assert len(folders) > 20
    assert folders - layers == {"commands", "documented", "end_to_end", "fresh", "slurm", "style"}


def test_the_page_about_the_architecture_names_existing_paths():
    """Every path on it exists, and every layer is on it."""
    page = (ROOT / "docs/architecture.md").read_text()
    paths = set(re.findall(r"`([\w./-]+\.(?:py|yaml|smk|md)|[\w./-]+/)`", page))
    folders = ("", "workflows/", "analysis/")
    lost = [path for path in paths if not any((ROOT / folder / path).exists() for folder in folders)]
    assert len(paths) > 40 and not lost
    layers = {layer for package in LAYERS.values() for layer in package.split()}
    assert not [layer for layer in layers if not re.search(rf"\b{layer}\b", page)]


def test_names_of_test_files_are_unique():
    """pytest imports test files by their names alone."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(set(names)) == sorted(names)
