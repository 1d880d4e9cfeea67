"""The certified provider of `oidc_provider.mjs`, as a process."""

import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from support.opening import SERVERS

CLIENT_SECRET = "secret-of-tarsy"
SCRIPT = SERVERS / "oidc_provider.mjs"


@contextmanager
def oidc_provider(callback: str, after_sign_out: str) -> Generator[str]:
    """Run the provider on a free port until the block ends; yields its issuer."""
    node = shutil.which("node")
    assert node, "Node.js is missing: run `make setup`"
    process = subprocess.Popen([node, str(SCRIPT), callback, after_sign_out], stdout=subprocess.PIPE, text=True, cwd=Path(SCRIPT).parent)
    try:
        assert process.stdout
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(10)
        if process.stdout:
            process.stdout.close()
