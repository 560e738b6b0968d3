"""What everything stands on: types, checks, errors, exact returns, safe files, when to stop, threads."""
