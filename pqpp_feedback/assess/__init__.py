"""Run automated assessors of generated images, and compare them with people."""
