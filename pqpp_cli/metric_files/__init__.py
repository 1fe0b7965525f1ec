"""What `pqpp metrics compute` reads: tables joined by ids, runs and relevance judgments."""
