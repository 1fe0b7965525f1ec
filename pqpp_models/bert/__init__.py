"""The text predictor: any encoder of `AutoModel` with the regression head of the PQPP paper."""

POOLINGS = ("cls", "pooler", "mean")
