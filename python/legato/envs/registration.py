"""Gymnasium finds ``legato/Call-v0`` once ``legato.envs`` is imported."""

from __future__ import annotations

from legato.errors import Error


def require_gymnasium() -> None:
    """Raise an error of one line if it is not installed."""
    try:
        import gymnasium  # noqa: F401
    except ImportError:
        raise Error("environments need gymnasium", hint="pip install 'legato-rtc[gym]'") from None


def require_pettingzoo() -> None:
    """Raise an error of one line if it is not installed."""
    require_gymnasium()
    try:
        import pettingzoo  # noqa: F401
    except ImportError:
        raise Error("several agents need pettingzoo", hint="pip install 'legato-rtc[gym]'") from None


def register() -> None:
    """Register the environments by name; idempotent."""
    import gymnasium

    if "legato/Call-v0" not in gymnasium.registry:
        gymnasium.register(
            id="legato/Call-v0",
            entry_point="legato.envs.call_env:CallEnv",
            vector_entry_point="legato.envs.vector_env:CallVectorEnv",
        )
