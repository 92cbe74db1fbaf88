"""How do published figures compare?"""

from __future__ import annotations

from analysis.topics.published.section import headline, published_figures
from analysis.topics.topic import Topic

TOPIC = Topic(name="published", section=published_figures, headline=headline, needs_runs=False)
