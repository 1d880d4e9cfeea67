"""PostgreSQL: tables, one repository per noun, the queue, notifications."""

from tarsy.kit.imports import hollow

# SQLAlchemy's asynchronous engine brings sessions of its ORM along, and they bring the ORM: memory and a start's time for nothing that we use.
hollow("sqlalchemy.ext.asyncio.session", "sqlalchemy.ext.asyncio.scoping")
# Its dialect brings all drivers along that there are for it; with psycopg it speaks of tables before there is a connection.
hollow(*(f"sqlalchemy.dialects.postgresql.{driver}" for driver in ("pg8000", "psycopg2", "psycopg2cffi")))
