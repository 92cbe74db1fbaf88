"""How a process carries out its messages, whatever moves them: what it may have under way at once.

A write is a head and the data, answered by a head when it has arrived; a read is a head, answered by a head
and the data.
"""

WINDOW = 4
"""Messages of a client that are under way at once."""

BUFFERS = 2
"""Messages whose data a process receives at once; further ones wait where they come from."""

HEAD_WORDS = 5
HEAD_BYTES = 8 * HEAD_WORDS
"""Size of the small message before data or without any."""
