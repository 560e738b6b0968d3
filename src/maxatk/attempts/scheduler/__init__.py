"""The scheduler: which attempt to make next, for many tasks at once."""
