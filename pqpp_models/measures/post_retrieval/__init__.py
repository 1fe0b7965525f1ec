"""Post-retrieval predictors: what a query's result list says of its quality, without judgments.

``scores`` needs the retrieval scores only, ``rankings`` the identities of the results,
``embeddings`` their vectors; all are functions on arrays, one value a query. ``measures`` has them
as measures of rows, and the clarity of the results' texts.
"""
