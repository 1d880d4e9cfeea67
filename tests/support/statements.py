"""The statements that an engine executes."""

from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine


def log_statements(engine: AsyncEngine, statements: list[str]) -> None:
    """Append every statement that the engine executes from now on."""

    def append(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    event.listen(engine.sync_engine, "before_cursor_execute", append)
