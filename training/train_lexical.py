"""Retired: says what came in its place."""

import sys


def main(arguments: object = None) -> int:
    """Name what to use now, and return the exit status of bad input."""
    print(
        "error: train_lexical is retired; use static, or fit your own: pqpp fit DATASET "
        "--targets NAME --output DIR",
        file=sys.stderr,
    )
    return 2


if __name__ == "__main__":
    sys.exit(main())
