"""Agents: their prompts, their control flow, their tools, their evidence and their budgets."""
