"""Trials: what is still to ask, asking it, and the log that keeps every reply."""
