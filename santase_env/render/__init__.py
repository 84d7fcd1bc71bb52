"""Pictures of a deal; for now in text."""

from .text import RENDER_MODES, ansi, check_render_mode, render

__all__ = ["RENDER_MODES", "ansi", "check_render_mode", "render"]
