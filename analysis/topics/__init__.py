"""Topics, the questions of a report: one module or folder each, with tables, columns, figures and section.

`analysis.topics.registry` lists the topics. docs/extending/topic.md has a template.
"""
