"""`tarsy incidents` and `tarsy routes test` in a terminal."""

import json
import re
from pathlib import Path
from typing import Any

from anyio import to_thread

from support.intake_world import RESOLVED, alert, intake_world
from support.tarsy_process import Tarsy

BODY: dict[str, Any] = {
    "alerts": [{"labels": {"alertname": "DiskFull", "severity": "critical"}}],
    "groupKey": "g",
    "commonLabels": {},
    "status": "firing",
}


async def test_incidents_are_listed_and_shown(database_url: str, tarsy: Tarsy, tmp_path: Path) -> None:
    async with intake_world(database_url) as ground:
        taken = (await ground.take(alert("f1"), alert("f2", title="\x1b[2JDisk f2"))).main
        await ground.take(alert("f1", RESOLVED))
        await ground.finish(await ground.begin(), partial="a ceiling was met.")
    assert taken

    async def run(*arguments: str, command: str = "incidents") -> tuple[int, str]:
        ran = await to_thread.run_sync(lambda: tarsy(command, *arguments, cwd=tmp_path, env={"DATABASE_URL": database_url}))
        return ran.returncode, ran.stdout + ran.stderr

    code, listed = await run("list", "--state", "open")
    assert (code, "  1/2  " in listed, "1 of 1 incidents, 1 open." in listed) == (0, True, True)
    assert "completed (partial)" in listed
    assert "completed (partial)" in (await run("list", command="sessions"))[1]
    code, shown = await run("show", str(taken.incident_id))
    assert code == 0
    assert "completed (partial)" in shown
    assert "1 of 2 alerts firing, received 3 times" in shown
    assert "\nSTATUS  SEVERITY  RECEIVED  TITLE" in re.sub(" {2,}", "  ", shown)
    assert str(taken.session_id) in shown
    assert (await run("show", str(taken.incident_id)[:8]))[1] == shown
    # What a sender writes does not command the terminal.
    assert "\x1b" not in shown
    assert await run("list", "--state", "resolved") == (0, "There are no resolved incidents.\n")
    assert (await run("list", "--state", "odd"))[0] == 2
    assert await run("show", "nonsense") == (1, "There is no incident nonsense. To see their ids: tarsy incidents list\n")


def test_routes_are_tried_out_without_a_server(tarsy: Tarsy, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "tarsy.yaml").write_text("""
routes:
  - name: disks
    match: ['alertname =~ "Disk.*"']
    priority: 7
    tool_servers: {kubernetes-server: {label: cluster, variants: {eu1: kubernetes-eu1}}}
mcp_servers: {kubernetes-eu1: {transport: {type: http, url: 'http://eu1.example.com/mcp'}}}
""")
    ran = tarsy("routes", "test", "-", cwd=tmp_path, stdin=json.dumps(BODY))
    assert ran.returncode == 0, ran.stderr
    assert "Sender: alertmanager" in ran.stdout
    assert 'route disks: alertname =~ "Disk.*" matches' in ran.stdout
    assert "with priority 7" in ran.stdout
    assert 'Tool server "kubernetes-server" was left out: the alert\'s label "cluster" is missing' in ran.stdout
    plain = tarsy("routes", "test", "-", "--source", "pager", cwd=tmp_path, stdin="The disk is full")
    assert "Sender: pager" in plain.stdout
    assert "not route disks" in plain.stdout
