"""What does the study ask for?"""

from __future__ import annotations

from analysis.topics.asked.section import asked
from analysis.topics.topic import Topic

TOPIC = Topic(name="asked", section=asked, in_appendix=True, needs_runs=False, on_screen={"list"})
