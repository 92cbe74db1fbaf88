"""Code uses libraries through their documented interface: nothing private, nothing replaced."""

import ast
from collections.abc import Iterator

import pytest

from workflows.paths import ROOT

OURS = ("analysis", "workflows")
FILES = sorted(file for folder in OURS for file in (ROOT / folder).rglob("*.py"))
DOCUMENTED = {"_asdict", "_fields", "_make", "_replace"}
"""Names with an underscore that Python documents: those of named tuples."""


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__") and name not in DOCUMENTED


def is_foreign(module: str) -> bool:
    return module.partition(".")[0] not in (*OURS, "__future__")


def private_names_of_ours() -> set[str]:
    """Names with an underscore that our classes and modules define."""
    names = set()
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text())):
            match node:
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.alias(asname=str(name)):
                    names.add(name)
                case (
                    ast.Name(id=name, ctx=ast.Store())
                    | ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store())
                ):
                    names.add(name)
    return {name for name in names if is_private(name)}


PRIVATE_NAMES = private_names_of_ours()
REPLACEABLE = {"sys.excepthook"}
"""Attributes that their documentation allows to replace."""


def root_of(node: ast.expr) -> str | None:
    """Name at which an expression of attributes and items begins: ``a`` of ``a.b[0].c``."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def faults(source: str) -> Iterator[tuple[str, str]]:
    """Give what is wrong with a source: the code, and what is wrong with it."""
    tree = ast.parse(source)
    foreign: set[str] = set()
    functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                modules = [alias.name for alias in names]
                foreign |= {
                    (alias.asname or alias.name).partition(".")[0]
                    for alias in names
                    if is_foreign(alias.name)
                }
            case ast.ImportFrom(module=str(module), names=names):
                modules = [f"{module}.{alias.name}" for alias in names]
                foreign |= {alias.asname or alias.name for alias in names if is_foreign(module)}
            case _:
                continue
        for module in modules:
            if is_foreign(module) and any(map(is_private, module.split("."))):
                yield ast.unparse(node), "imports a private name"

    def is_replacement(target: ast.expr, value: ast.expr | None) -> bool:
        """Whether something foreign, or a function of any other object, is replaced."""
        if not isinstance(target, ast.Attribute) or root_of(target) in ("self", "cls"):
            return False
        called = value.func if isinstance(value, ast.Call) else value
        return (
            root_of(target) in foreign
            or isinstance(called, ast.Lambda)
            or (isinstance(called, ast.Name) and called.id in functions)
        )

    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) if is_private(name) and (
                name not in PRIVATE_NAMES or root_of(node) in foreign
            ):
                yield ast.unparse(node), "is a private name"
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    if is_replacement(target, value) and ast.unparse(target) not in REPLACEABLE:
                        yield ast.unparse(target), "is replaced"
            case (
                ast.AugAssign(target=target) | ast.AnnAssign(target=target) | ast.Delete(targets=[target])
            ) if is_replacement(target, None):
                yield ast.unparse(target), "is replaced"
            case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[target, *_]) if (
                root_of(target) in foreign
            ):
                yield ast.unparse(node), "replaces an attribute"
        match node:
            case (
                ast.Subscript(
                    value=ast.Attribute(value=ast.Name(id="sys"), attr="modules"), ctx=ast.Store() | ast.Del()
                )
                | ast.Call(
                    func=ast.Attribute(
                        value=ast.Attribute(value=ast.Name(id="sys"), attr="modules"),
                        attr="pop" | "setdefault" | "update" | "clear" | "popitem",
                    )
                )
            ):
                yield ast.unparse(node), "changes sys.modules"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_libraries_are_used_as_they_are_documented(file):
    assert [f"{code} {place}" for code, place in faults(file.read_text())] == []


@pytest.mark.parametrize(
    "source",
    [
        "import numpy\nnumpy._core",
        "import numpy as np\nnp.linalg.solve = print",
        "import numpy as np\nnp.linalg.maker().solve = lambda: 1",
        "import numpy as np\nsetattr(np, 'sum', sum)",
        "import numpy as np\ndel np.sum",
        "import numpy._core",
        "from numpy import _core",
        "from numpy._core import umath",
        "from snakemake.script import Snakemake\nSnakemake.params = 1",
        "def faster(): pass\ndef patch(plugin): plugin.Executor.run = faster",
        "def patch(plugin): plugin.Executor.run = lambda: 1",
        "def parse(job): return job._private_of_a_library",
        "import sys\nsys.modules['numpy'] = None",
        "import sys\nsys.modules.pop('numpy')",
        "import sys\ndel sys.modules['numpy']",
    ],
)
def test_undocumented_uses_are_found(source):
    assert list(faults(source))


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np\nnp.linalg.solve",
        "class Ours:\n    def __init__(self): self.run = lambda: 1",
        "from analysis.runs import _private",
        "def change(pair): return pair._replace(first=1)",
        "import sys\n'numpy' in sys.modules",
    ],
)
def test_documented_and_own_uses_are_allowed(source):
    assert not list(faults(source))
