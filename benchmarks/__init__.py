"""The measures of the project; see ``docs/medidas.md``."""

import os

# Before numpy is imported. By default its BLAS takes every core, and where PostgreSQL and the client share
# two it mostly waits for itself: an embedding took four times longer and hid what the two stores do.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
