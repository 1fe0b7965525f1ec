"""The sources of the metrics, as the evaluate modules cite them."""

PQPP = (
    "Poesina, Costache, Chifu, Mothe and Ionescu, "
    '"PQPP: A Joint Benchmark for Text-to-Image Prompt and Query Performance Prediction", '
    "CVPR 2025, arXiv:2406.04746"
)
CONQA = (
    "Rodriguez, Tavassoli, Levy, Lederman, Sivov, Lissandrini and Mottin, "
    '"Does the performance of Text-to-Image retrieval models generalize beyond '
    'captions-as-a-query?", ECIR 2024'
)
RICHHF = (
    'Liang et al., "Rich Human Feedback for Text-to-Image Generation", CVPR 2024, arXiv:2312.10240'
)
GIMBRR = (
    "Achterberg, Arel, Grinberg, Chaibi, Bach and Tzagadakis, "
    '"Generative Image Model Benchmark for Reasoning and Representation (GIMBRR)", 2023'
)
VISTAR = (
    'Jiang et al., "VISTAR: A User-Centric and Role-Driven Benchmark for Text-to-Image Evaluation"'
)
TREC = (
    'Buckley and Voorhees, "Retrieval System Evaluation", in "TREC: Experiment and Evaluation in '
    'Information Retrieval", MIT Press 2005'
)
QPP = (
    'Carmel and Yom-Tov, "Estimating the Query Difficulty for Information Retrieval", '
    "Morgan & Claypool 2010"
)
SMARE = (
    "Faggioli, Zendel, Culpepper, Ferro and Scholer, "
    '"An Enhanced Evaluation Framework for Query Performance Prediction", ECIR 2021'
)
SALIENCY = (
    "Bylinskii, Judd, Oliva, Torralba and Durand, "
    '"What do different evaluation metrics tell us about saliency models?", IEEE TPAMI 2018'
)
BOOTSTRAP = 'Efron and Tibshirani, "An Introduction to the Bootstrap", Chapman & Hall 1993'
PERMUTATION = 'Good, "Permutation, Parametric and Bootstrap Tests of Hypotheses", Springer 2005'
STEIGER = (
    'Steiger, "Tests for Comparing Elements of a Correlation Matrix", Psychological Bulletin 87, '
    "1980"
)
HOLM = (
    'Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of '
    "Statistics 6, 1979"
)
FLEISS = (
    'Fleiss, "Measuring Nominal Scale Agreement Among Many Raters", Psychological Bulletin 76, 1971'
)
COHEN = (
    'Cohen, "A Coefficient of Agreement for Nominal Scales", Educational and Psychological '
    "Measurement 20, 1960"
)
KRIPPENDORFF = 'Krippendorff, "Computing Krippendorff\'s Alpha-Reliability", 2011'
