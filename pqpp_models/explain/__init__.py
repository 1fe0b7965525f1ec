"""Why a predictor says what it says: how a prediction changes without a phrase of the prompt."""
