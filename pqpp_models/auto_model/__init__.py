"""The predictors that need no torch, as transformers' `AutoConfig`, `AutoModel` and `pipeline`."""
