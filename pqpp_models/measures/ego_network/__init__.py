"""Ego-network predictors: how specific the words of a prompt are, seen from their neighbours.

``vectors`` reads word embeddings of any source, ``network`` builds the graph around a word,
``measures`` measures it.
"""
