"""Where things are in this checkout; everything made at run time lies below `.local` or `.venv`."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = ROOT / ".venv" / "bin" / "python"
CDK = ROOT / "node_modules" / ".bin" / "cdk"
LOCAL = ROOT / ".local"
EMULATOR_PYTHON = LOCAL / "emulator" / "bin" / "python"
EXTRAS_PYTHON = LOCAL / "extras" / "bin" / "python"
STACK_FILE = LOCAL / "stack.json"
