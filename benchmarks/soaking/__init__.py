"""The hunt for broken promises: families of problems, an oracle of its own, and what is held to it."""
