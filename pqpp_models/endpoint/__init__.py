"""What a pushed predictor needs to answer on a Hugging Face Inference Endpoint."""
