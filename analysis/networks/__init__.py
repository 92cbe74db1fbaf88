"""Interconnects by themselves: curves of their benchmarks, links, traffic, congestion, replays."""
