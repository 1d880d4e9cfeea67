"""Sessions in the database: accepted, listed, asked about, forked, exported, erased."""
