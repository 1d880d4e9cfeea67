"""PostgreSQL: tables, one repository for each kind of row, the queue, notifications."""
