"""What a log says: estimates with intervals, the task as their unit."""
