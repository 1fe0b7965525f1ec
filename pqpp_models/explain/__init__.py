"""Why a predictor says what it says: the words of a prompt and what each adds to its prediction."""
