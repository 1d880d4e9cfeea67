"""A session as one document that a person can keep, send or print: as HTML that loads nothing, or as Markdown."""
