"""TCP and UDP between two processes."""

from workflows.benchmarks.program import start
from workflows.benchmarks.sockets import sockets

start(sockets)
