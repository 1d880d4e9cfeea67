"""Configuration: files, built-ins, hierarchy; every problem is reported at once."""
