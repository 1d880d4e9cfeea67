"""Setting an installation up: what is written, what is tried before it is, and the door that a one-time code opens."""
