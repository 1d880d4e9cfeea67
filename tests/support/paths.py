"""Where the things lie that tests name by their path."""

from pathlib import Path

SUPPORT = Path(__file__).parent
TESTS = SUPPORT.parent
ROOT = TESTS.parent
FAULT_SERVER = SUPPORT / "fault_server.py"
UNPRIVILEGED = SUPPORT / "unprivileged.py"
MASKING_SENTENCES = TESTS / "corpus" / "masking" / "sentences.txt"
