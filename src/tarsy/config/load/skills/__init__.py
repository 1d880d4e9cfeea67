"""Skills as the configuration brings them: the SKILL.md format, directories of skills, checkouts of Git repositories."""
