"""How many tokens the common model families take, for providers that do not say it themselves."""

# Cautious where a family differs by plan: what every customer gets. Longer prefixes stand before the shorter ones they specialise.
_WINDOWS = (
    ("gemini-", 1_048_576),
    ("claude-", 200_000),
    # 400,000 in all, of which 128,000 are kept for the answer.
    ("gpt-5", 272_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4", 128_000),
    ("o3", 200_000),
    ("o4", 200_000),
    ("grok-4", 256_000),
    ("grok-3", 131_072),
)

UNKNOWN_MODEL = 128_000


def context_window(model: str) -> int:
    """The window of `model`, also when a proxy has put its own prefix before the name (`openai/gpt-5.2`)."""
    name = model.rsplit("/", maxsplit=1)[-1].lower()
    return next((window for prefix, window in _WINDOWS if name.startswith(prefix)), UNKNOWN_MODEL)
