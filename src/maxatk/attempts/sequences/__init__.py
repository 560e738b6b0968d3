"""Which arm next, and when to stop: sequences of arms, and their replay on other tasks."""
