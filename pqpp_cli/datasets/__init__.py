"""`pqpp datasets`: list, explain, export and publish benchmarks.

The benchmarks as Hugging Face datasets, and distinct prompts for one of your own.
"""

EPILOG = """examples:
  pqpp datasets list
  pqpp datasets show conqa
  pqpp datasets show my-benchmark
  pqpp datasets export conqa conqa-candidates --output conqa-parquet
  pqpp datasets export pqpp-v1.0 --data-dir ../PQPP --output pqpp-parquet
  pqpp datasets push conqa-parquet OWNER/conqa --dry-run
  pqpp datasets select captions.txt --count 10000 --encoder sentence-transformers/all-MiniLM-L6-v2
"""
