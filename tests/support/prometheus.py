"""A real Prometheus with a real Alertmanager, which watch one metric that the test sets."""

import shutil
import socket
import subprocess
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import httpx

PROMETHEUS = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [rules.yml]
scrape_configs:
  - {{job_name: shop, static_configs: [{{targets: ['127.0.0.1:{target}']}}]}}
alerting:
  alertmanagers:
    - static_configs: [{{targets: ['127.0.0.1:{alertmanager}']}}]
"""
RULES = """
groups:
  - name: shop
    rules:
      - alert: DiskFull
        expr: disk_full == 1
        labels: {severity: critical, namespace: shop}
        annotations: {summary: 'The disk of {{ $labels.pod }} is full'}
"""
ALERTMANAGER = """
route: {{receiver: tarsy, group_by: [alertname], group_wait: 1s, group_interval: 1s, repeat_interval: 2s}}
receivers:
  - name: tarsy
    webhook_configs: [{{url: '{url}', send_resolved: true}}]
"""


@dataclass
class Monitoring:
    alertmanager: int
    prometheus: int
    # What the metric says.
    value: int = 1

    def notifications(self) -> int:
        """How many requests Alertmanager has sent, by its own count."""
        text = httpx.get(f"http://127.0.0.1:{self.alertmanager}/metrics", trust_env=False).text
        [line] = [line for line in text.splitlines() if line.startswith('alertmanager_notifications_total{integration="webhook"')]
        return int(float(line.rpartition(" ")[2]))


@contextmanager
def monitoring(directory: Path, url: str) -> Generator[Monitoring]:
    """Let a rule of Prometheus fire while the metric is 1, and Alertmanager tell `url` of it."""
    watched = Monitoring(_free_port(), _free_port())
    with ExitStack() as stack:
        target = stack.enter_context(_metric(watched))
        (directory / "prometheus.yml").write_text(PROMETHEUS.format(target=target, alertmanager=watched.alertmanager))
        (directory / "rules.yml").write_text(RULES)
        (directory / "alertmanager.yml").write_text(ALERTMANAGER.format(url=url))
        stack.enter_context(
            _running(
                "prometheus-alertmanager",
                f"--config.file={directory}/alertmanager.yml",
                f"--storage.path={directory}/alertmanager",
                f"--web.listen-address=127.0.0.1:{watched.alertmanager}",
                # No cluster: it would look for an address of its own on the network.
                "--cluster.listen-address=",
                log=directory / "alertmanager.log",
            )
        )
        stack.enter_context(
            _running(
                "prometheus",
                f"--config.file={directory}/prometheus.yml",
                f"--storage.tsdb.path={directory}/prometheus",
                f"--web.listen-address=127.0.0.1:{watched.prometheus}",
                "--rules.alert.resend-delay=1s",
                log=directory / "prometheus.log",
            )
        )
        yield watched


@contextmanager
def _metric(watched: Monitoring) -> Generator[int]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = f'disk_full{{pod="cart-1"}} {watched.value}\n'.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - its name in the server
            del format, arguments  # the tests' output is for failures

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@contextmanager
def _running(program: str, *arguments: str, log: Path) -> Generator[None]:
    found = shutil.which(program)
    assert found, f"{program} is not installed: run .ci/system-packages, or apt-get install prometheus prometheus-alertmanager"
    with log.open("w") as output, subprocess.Popen([found, *arguments], stdout=output, stderr=output) as process:
        try:
            yield
        finally:
            process.terminate()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
