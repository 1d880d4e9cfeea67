"""Evals: cases with a known answer, run through the production pipeline, and the report on the results.

The package is above the wiring, as `replay` is, so that a case takes the same path as an alert.
"""
