"""`pqpp models`: list, explain, convert and publish predictors.

The predictors: shipped with the package, saved in folders, on the Hub.
"""

EPILOG = """examples:
  pqpp models list
  pqpp models show static
  pqpp models export outputs/bert --output bert_onnx
  pqpp models push outputs/bert OWNER/REPOSITORY --dry-run
  pqpp models push outputs/bert OWNER/REPOSITORY --private --branch v2
  pqpp models push runs/rahf/model OWNER/REPOSITORY
  pqpp models push --space OWNER/NAME --dry-run
  pqpp models push outputs/bert OWNER/REPOSITORY --space OWNER/NAME
  pqpp models push outputs/bert OWNER/REPOSITORY --benchmark OWNER/DATASET
  pqpp models submit OWNER/REPOSITORY --benchmark OWNER/DATASET --dry-run
"""
