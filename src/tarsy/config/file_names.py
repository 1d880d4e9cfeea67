"""The names of the files in a configuration directory. Commands that only look for a directory need no schema."""

TARSY_FILE = "tarsy.yaml"
# Beside tarsy.yaml: further parts of the same document, one file for each team or purpose.
TARSY_DIRECTORY = "tarsy.d"
PROVIDERS_FILE = "llm-providers.yaml"
