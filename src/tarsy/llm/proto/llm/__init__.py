"""Generated from proto/llm/v1/llm.proto; do not edit."""
