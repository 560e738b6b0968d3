"""Which arm next, and when to stop: sequences of arms, their replay on other tasks, and the scheduler."""
