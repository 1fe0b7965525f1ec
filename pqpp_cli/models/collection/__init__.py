"""`pqpp models collection`: let a text ensemble measure prompts against your own captions.

How well a query is answered depends on the collection that it is run against. A text ensemble
(pqpp train text_ensemble) measures how densely captions lie around a prompt. With these two
commands it looks at your captions instead of MS COCO's. It keeps its training prompts.
"""

EPILOG = """examples:
  pqpp models collection build captions.txt --predictor runs/text_ensemble --output my_collection
  pqpp models collection attach my_collection --predictor runs/text_ensemble --output my_predictor
  pqpp predict "a red cat" --predictor my_predictor
"""
