"""Tries in parallel: rounds of rollouts that see the best return at the start of their round, not each other."""
