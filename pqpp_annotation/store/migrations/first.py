"""The tables of the first version: what every revision begins at, so that nothing is to be done."""

revision = "first"
down_revision = None


def upgrade() -> None:
    """Change nothing: a new database gets the tables of `store.tables` at once."""
