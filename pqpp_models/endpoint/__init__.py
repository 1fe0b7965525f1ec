"""The handler of pushed predictors on a Hugging Face Inference Endpoint."""
