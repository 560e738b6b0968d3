"""Which arm next, and when to stop: sequences of arms, what they earn, and a desk that follows one."""
