"""Route load: what the links and switches of a topology carry of a pattern of traffic, by its routing alone.

It counts bytes on routes. Time, buffers and flow control have no part in it: a load is no measured wait.
"""
