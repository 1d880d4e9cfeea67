"""From files to a checked configuration: reading, filling in, every problem at once."""
