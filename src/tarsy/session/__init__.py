"""Walking a chain: stages, synthesis, executive summary, chat, scoring, recordings."""
