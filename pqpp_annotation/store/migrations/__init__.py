"""The revisions of the tables, each a file; `store.schema` brings a database to the last one."""
