"""Which arm next, and when to stop: sequences of arms, what they earn, and a scheduler that follows one."""
