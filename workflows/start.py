"""Start ``./run-study``.

Ctrl-C ends it with one line, also while Python imports Snakemake, which takes a second or two.
"""

import sys

from workflows.errors import GOES_ON, one_line_errors

if __name__ == "__main__":
    with one_line_errors(after_interrupt=GOES_ON):
        from workflows.command import main

        main(sys.argv[1:])
