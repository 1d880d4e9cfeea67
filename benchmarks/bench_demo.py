"""How long `tarsy demo` takes for every sample incident, without the pauses and at the pace of a real model."""

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tarsy.demo.samples import list_samples

TARSY = str(Path(sys.executable).with_name("tarsy"))
FAST_SECONDS, NATURAL_SECONDS = 10.0, 60.0
# At the natural pace they mostly wait, so some can run beside each other and still be timed.
AT_ONCE = 3


def demo(name: str, directory: str, *options: str) -> float:
    started = time.monotonic()
    environment = {**os.environ, "TARSY_DATA_DIR": f"{directory}/data"}
    subprocess.run([TARSY, "demo", name, *options], cwd=directory, env=environment, check=True, capture_output=True, timeout=300)
    return time.monotonic() - started


def main() -> bool:
    names = [sample.name for sample in list_samples()]
    with tempfile.TemporaryDirectory(prefix="tarsy-bench-") as directory:
        Path(directory).chmod(0o711)
        # The first one makes the database: a first start has a benchmark of its own.
        demo(names[0], directory, "--fast")
        fast = {name: demo(name, directory, "--fast") for name in names}
        with ThreadPoolExecutor(AT_ONCE) as pool:
            natural = dict(zip(names, pool.map(demo, names, [directory] * len(names)), strict=True))
    for name in names:
        print(
            f"tarsy demo {name:<14} {natural[name]:6.1f} s (limit {NATURAL_SECONDS:.0f})   --fast {fast[name]:5.1f} s (limit {FAST_SECONDS:.0f})"
        )
    return max(natural.values()) < NATURAL_SECONDS and max(fast.values()) < FAST_SECONDS


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
