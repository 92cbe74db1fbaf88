"""Minimal Debians are made only on request, whatever other marks are chosen."""

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "fresh" in config.option.markexpr:
        return
    fresh = [item for item in items if item.get_closest_marker("fresh")]
    config.hook.pytest_deselected(items=fresh)
    items[:] = [item for item in items if item not in fresh]
