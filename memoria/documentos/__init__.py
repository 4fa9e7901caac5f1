"""Document memory: Markdown pages that people write and agents read, each in an owner space.

What an agent's process imports from here (``espacios``, ``busqueda``, ``citas``)
names no Django; the rest is a Django application of its own, labelled ``documentos``.
"""
