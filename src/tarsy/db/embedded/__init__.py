"""The PostgreSQL that TARSy brings along: its programs, its account, its life."""
