"""What is answered while the application is still being loaded."""

import subprocess
import sys
from collections.abc import Awaitable, Callable

import anyio
import httpx
from starlette.responses import PlainTextResponse

from tarsy.api.schemas.system import HealthReport
from tarsy.startup import FrontDoor

APPLICATION = PlainTextResponse("from the application")


def database(*, ready: bool) -> Callable[[], Awaitable[bool]]:
    async def is_ready() -> bool:
        return ready

    return is_ready


def client(door: FrontDoor) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(door), base_url="http://tarsy")


async def ask(http: httpx.AsyncClient, path: str, answers: list[str]) -> None:
    answers.append((await http.get(path)).text)


async def test_health_is_told_before_the_application_is_there() -> None:
    async with client(FrontDoor(database(ready=True))) as http:
        answer = await http.get("/health")
        report = HealthReport.model_validate_json(answer.content)
        assert (answer.status_code, report.status) == (200, "degraded")
        assert {name: check.status for name, check in report.checks.items()} == {"database": "healthy", "application": "unhealthy"}
        assert (await http.head("/health")).content == b""


async def test_other_requests_wait_for_the_application() -> None:
    door, answers = FrontDoor(database(ready=True)), list[str]()
    async with client(door) as http, anyio.create_task_group() as tasks:
        tasks.start_soon(ask, http, "/api/v1/sessions", answers)
        await anyio.wait_all_tasks_blocked()
        assert answers == []
        door.open(APPLICATION)
    assert answers == ["from the application"]


async def test_health_waits_too_where_the_database_is_not_ready() -> None:
    door, answers = FrontDoor(database(ready=False)), list[str]()
    async with client(door) as http, anyio.create_task_group() as tasks:
        tasks.start_soon(ask, http, "/health", answers)
        await anyio.wait_all_tasks_blocked()
        door.open(APPLICATION)
    assert answers == ["from the application"]


async def test_health_is_told_as_soon_as_an_embedded_database_has_started() -> None:
    opened, answers = anyio.Event(), list[str]()

    async def is_ready() -> bool:
        await opened.wait()
        return True

    async with client(FrontDoor(is_ready)) as http, anyio.create_task_group() as tasks:
        tasks.start_soon(ask, http, "/health", answers)
        await anyio.wait_all_tasks_blocked()
        assert answers == []
        opened.set()
    assert HealthReport.model_validate_json(answers[0]).status == "degraded"


async def test_an_application_that_is_there_answers_everything() -> None:
    door = FrontDoor(database(ready=True))
    door.open(APPLICATION)
    async with client(door) as http:
        assert (await http.get("/health")).text == "from the application"


def test_the_collector_does_not_look_through_what_was_loaded() -> None:
    program = (
        "import gc; from tarsy.startup import settle_collector; settle_collector(); print(len(gc.get_objects()) < gc.get_freeze_count())"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "True\n"
