"""The certified planner: curves of slices, searched until an interval around the optimum is narrow."""
