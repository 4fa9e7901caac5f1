"""Sample data for ``manage.py demo``, made by the product itself: its agents, its tools and its forms."""
