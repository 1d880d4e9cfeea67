"""What the files may say: every section, its keys and the values they take."""
