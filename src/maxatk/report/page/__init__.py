"""Web pages of one file, which need nothing else: neither other files nor a network (extra ``page``)."""
