"""The two control flows of an agent, and the protocols in which the iterating one speaks of tools."""
