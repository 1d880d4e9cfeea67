"""What Alembic runs to reach the database: always on the connection, and in the transaction, it is handed."""

from alembic import context

from tarsy.db.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
