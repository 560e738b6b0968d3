"""Which function shows what: ways of showing, and the renderers that are registered for them by type."""
