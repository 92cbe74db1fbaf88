"""How busy are data servers and their clients?"""

from __future__ import annotations

from analysis.topics.data_servers.section import data_servers
from analysis.topics.data_servers.tables import DATA_SERVER_TABLES, make_data_servers
from analysis.topics.topic import Topic

TOPIC = Topic(
    name="data_servers",
    schemas=DATA_SERVER_TABLES,
    make=lambda context: make_data_servers(context.runs, context.side_tables["data_servers"]),
    section=data_servers,
)
