"""A benchmark as a folder of Parquet files, here and on the Hub."""
