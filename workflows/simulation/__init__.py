"""Simulated interconnects: models fitted to ping-pong curves, and traces replayed on them."""
