"""OpenTelemetry. Imported only where OTEL_EXPORTER_OTLP_ENDPOINT is set: without it nothing of it is loaded.

Names follow the GenAI semantic conventions as of commit 004902b of open-telemetry/semantic-conventions-genai. They are in development:
a commit that moves the pin says what changed. What is said to models and by them is never part of a span.
"""
