"""The SDKs of configured models are imported before a process takes work, and no large library that the configuration does not use."""

import json
import sys
from pathlib import Path

import anyio

PROGRAM = """
import json, sys
from pathlib import Path
from tarsy.config.load.loader import load_config
from tarsy.llm.in_process import load_sdks
from tarsy.server import run_server
from tarsy.wiring.installation import models_in_use

load_sdks(models_in_use(load_config(Path(sys.argv[1]), {"OPENAI_API_KEY": "a-key-of-a-test"})).values())
print(json.dumps([name for name in ("langchain_openai", "anthropic", "google.genai", "mcp", "grpc", "alembic", "cryptography") if name in sys.modules]))
"""


async def test_a_server_loads_the_sdk_of_the_configured_model_and_no_other_large_library(tmp_path: Path) -> None:
    (tmp_path / "tarsy.yaml").write_text("defaults: {}\n")
    run = await anyio.run_process([sys.executable, "-c", PROGRAM, str(tmp_path)])
    assert json.loads(run.stdout) == ["langchain_openai"]
