"""All topics, in the order of the report: the body first, then the appendix.

A new topic is a module in this folder and an entry in `TOPICS`: see docs/extending/topic.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from analysis.topics import (
    adjusted,
    asked,
    censored,
    core_hours,
    data_servers,
    energy,
    equivalents,
    hybrid,
    node_loss,
    nodes,
    order,
    oversubscription,
    peaks,
    placement,
    precision,
    record,
    transports,
    validation,
    weigh,
)
from analysis.topics.changes import topic as changes
from analysis.topics.congestion import topic as congestion
from analysis.topics.fastest import topic as fastest
from analysis.topics.improvement import topic as improvement
from analysis.topics.models import topic as models
from analysis.topics.money import topic as money
from analysis.topics.network import topic as network
from analysis.topics.parts_of_time import topic as parts_of_time
from analysis.topics.prices import topic as prices
from analysis.topics.proposal import topic as proposal
from analysis.topics.published import topic as published
from analysis.topics.quality import topic as quality
from analysis.topics.run_cost import topic as run_cost
from analysis.topics.scaling import topic as scaling
from analysis.topics.simulated import topic as simulated
from analysis.topics.topic import Topic
from analysis.topics.traffic import topic as traffic
from analysis.topics.turnaround import topic as turnaround

TOPICS: Sequence[Topic] = (
    changes.TOPIC,
    scaling.TOPIC,
    peaks.TOPIC,
    improvement.TOPIC,
    improvement.MEAN,
    equivalents.TOPIC,
    oversubscription.TOPIC,
    hybrid.TOPIC,
    placement.TOPIC,
    run_cost.TOPIC,
    money.TOPIC,
    turnaround.TOPIC,
    proposal.TOPIC,
    energy.TOPIC,
    network.TOPIC,
    data_servers.TOPIC,
    traffic.TOPIC,
    congestion.TOPIC,
    transports.TOPIC,
    network.PUBLISHED,
    published.TOPIC,
    validation.TOPIC,
    asked.TOPIC,
    record.METHOD,
    weigh.TOPIC,
    node_loss.TOPIC,
    prices.TOPIC,
    simulated.TOPIC,
    simulated.TRACES,
    models.TOPIC,
    parts_of_time.TOPIC,
    fastest.TOPIC,
    quality.TOPIC,
    censored.TOPIC,
    precision.TOPIC,
    adjusted.TOPIC,
    nodes.TOPIC,
    order.TOPIC,
    record.LEFT_OUT,
    core_hours.TOPIC,
    record.MACHINE,
)
