"""The measures of the project; see ``docs/medidas.md``."""
