"""Route load: what the links and switches of a topology carry of a pattern of traffic, by its routing alone.

It counts bytes on routes, without time, buffers and flow control. Waits are calculated too, not measured.
"""
