"""All that a log says, for people: in the terminal, as JSON, as a page."""
