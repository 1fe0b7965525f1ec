"""Which candidate images of a query are relevant, as ConQA and PQPP ask."""
