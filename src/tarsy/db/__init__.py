"""PostgreSQL: tables, one repository per noun, the queue, notifications."""
