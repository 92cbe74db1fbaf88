"""What to buy, how to run, what to ask a centre for."""
