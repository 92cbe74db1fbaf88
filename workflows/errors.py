"""The error of bad input, apart from all else: benchmarks that are copied beside their runs raise it too."""


class InputError(Exception):
    """Bad input, told in one line: the file, the key, the value, what is allowed."""
