"""Where things are in this checkout; everything made at run time lies below `.local` or `.venv`."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCAL = ROOT / ".local"
EMULATOR_PYTHON = LOCAL / "emulator" / "bin" / "python"
STACK_FILE = LOCAL / "stack.json"
