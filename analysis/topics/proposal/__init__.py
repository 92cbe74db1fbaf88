"""Which node counts can a request for core-hours defend?"""
