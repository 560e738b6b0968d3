"""Findings in words: the only code that makes sentences about what was proved.

Numbers are rounded so that a sentence stays true: lower bounds down, upper bounds up, and a single number only if both
bounds round to it.
"""
