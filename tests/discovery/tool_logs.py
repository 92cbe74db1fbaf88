"""Output of tools on real machines: see tests/logs/README.md."""

from workflows.paths import ROOT


def printed(name: str) -> str:
    """Text of a file in tests/logs/interconnect_tools."""
    return (ROOT / f"tests/logs/interconnect_tools/{name}.txt").read_text()
