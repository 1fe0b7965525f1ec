"""The tables of this version; a change of them is a revision after it."""

revision = "first"
down_revision = None


def upgrade() -> None:
    """Change nothing: a new database gets the tables of `store.tables` at once."""
