"""From the configuration to what one session runs with."""
