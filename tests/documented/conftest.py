"""Long console blocks are run by ./run-tests docs only."""


def pytest_collection_modifyitems(config, items):
    if "docs" in config.option.markexpr:
        return
    long = [item for item in items if item.get_closest_marker("docs")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]
