"""Findings in words: the only place where sentences about what was proved are made.

Numbers are rounded so that a sentence stays true: lower bounds down, upper bounds up, and a plain number only where
both bounds round to it.
"""
