"""Evals: cases with a known answer, run through the pipeline of production, and what came of them.

It stands above the wiring, as `replay` does: a measurement that went another way than an alert does would measure something else.
"""
