"""One repetition: wait, run, check, attest, record."""
