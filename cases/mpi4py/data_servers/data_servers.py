"""A distributed array, with data servers or without."""

from workflows.benchmarks.data_servers import data_servers
from workflows.benchmarks.program import start

start(data_servers)
