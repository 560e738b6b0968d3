"""Cards: what notebooks show of a result. A verdict, a few numbers, and a small table or map."""
