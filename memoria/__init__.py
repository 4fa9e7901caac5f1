"""Back office over the long-term memory of LangGraph agents."""

__version__ = "0.1.0"
