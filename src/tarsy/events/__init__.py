"""Live delivery: stored events and running text from writers to the clients of every process."""
