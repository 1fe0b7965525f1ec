"""Seeded attacks: any input, and only a result or one typed line may come."""
