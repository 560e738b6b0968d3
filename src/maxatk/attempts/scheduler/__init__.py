"""The scheduler: which attempt next at each of many tasks, kept in a database that several workers share."""
