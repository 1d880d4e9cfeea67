"""PostgreSQL: tables, one repository per noun, the queue, notifications."""

from tarsy.kit.imports import hollow

# SQLAlchemy's asynchronous engine brings sessions of its ORM along, and they bring the ORM: memory and a start's time for nothing that we use.
hollow("sqlalchemy.ext.asyncio.session", "sqlalchemy.ext.asyncio.scoping")
