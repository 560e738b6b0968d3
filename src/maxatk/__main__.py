"""``python -m maxatk`` is the ``maxatk`` command."""

import sys


def main() -> int:
    """Run the command and return its exit code; Ctrl-C ends it in one line even while it is being loaded."""
    try:
        from maxatk.cli import main as run
    except KeyboardInterrupt:
        print("maxatk: interrupted", file=sys.stderr)
        return 130
    return run()


if __name__ == "__main__":
    sys.exit(main())
