"""ReAct: tool calls as text, for models that have no function calling."""
