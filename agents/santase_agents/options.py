"""Options of agents: what they may be, and the sentence that says so."""


def check_count(name: str, value: object, least: int = 1, most: int = 1_000_000) -> int:
    """``value`` if it is an integer from ``least`` to ``most``; raises ValueError that names it otherwise."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{name} must be an integer from {least} to {most:,}, not {value!r}")
    return value


def check_weight(name: str, value: object, least: float = 0.0, most: float = 1e6) -> float:
    """``value`` as a float if it is a number from ``least`` to ``most``; raises ValueError that names it otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise ValueError(f"{name} must be a number from {least:g} to {most:g}, not {value!r}")
    return float(value)


def check_flag(name: str, value: object) -> bool:
    """``value`` as a bool if it is one, or 0 or 1; raises ValueError that names it otherwise."""
    if not isinstance(value, bool | int) or value not in (0, 1):
        raise ValueError(f"{name} must be true or false, not {value!r}")
    return bool(value)
