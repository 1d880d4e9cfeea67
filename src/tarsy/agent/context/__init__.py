"""How finished work is told to the agents that come after it."""
