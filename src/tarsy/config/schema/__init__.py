"""The schema of the configuration files: every section, its keys and their values."""
