"""The run of a session in the database: steps are written here, and read back as history, timeline, trace and evidence."""
