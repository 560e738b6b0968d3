"""Results as plain data, for JSON."""
